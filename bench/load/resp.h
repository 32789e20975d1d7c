// Reading and writing RESP (Redis's wire protocol) for the load generator. Pure. A reader walks
// over bytes that may end anywhere: everything it returns points into them, and "not all there yet"
// is an answer, after which the caller reads more and starts over from the reply's first byte.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace vestq::bench {

struct RespItem {
  char type = 0;          // + - : $ * % _ and the other type bytes of RESP3
  int64_t number = 0;     // ':' its value; '$' '*' '%' its length, -1 for null
  std::string_view text;  // '+' '-' the line; '$' the bytes
  bool IsNull() const { return type == '_' || number < 0; }
};

class RespReader {
 public:
  enum class Step { kItem, kIncomplete, kMalformed };
  explicit RespReader(std::string_view bytes) : bytes_(bytes) {}

  // The next item: a scalar whole, or the head of an array or map.
  Step Next(RespItem* item);
  // Walks over one whole value, whatever it holds.
  Step Skip();
  size_t consumed() const { return at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

void AppendRespCommand(std::initializer_list<std::string_view> words, std::string* out);

}  // namespace vestq::bench
