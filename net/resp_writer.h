// Writes replies in RESP2 or RESP3 to the end of a string. A map is a flat array in RESP2, verbatim
// text a bulk string. Cheap to make; owned by one thread; appends only.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

class RespWriter {
 public:
  RespWriter(std::string* out, bool resp3) : out_(out), resp3_(resp3) {}

  bool resp3() const { return resp3_; }

  void Simple(std::string_view text) { Line('+', text); }
  // "-CODE text". Bytes that would break the line are replaced.
  void Error(std::string_view code, std::string_view text) {
    out_->push_back('-');
    AppendLine(code);
    if (!text.empty()) {
      out_->push_back(' ');
      AppendLine(text);
    }
    out_->append("\r\n");
  }
  void Error(const vestq::Error& error) { Error(ErrorCodeName(error.code()), error.text()); }
  void Int(int64_t value) { Number(':', value); }
  void Bulk(std::string_view bytes) {
    Number('$', static_cast<int64_t>(bytes.size()));
    out_->append(bytes);
    out_->append("\r\n");
  }
  void BulkNumber(uint64_t value) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    Bulk(std::string_view(text, static_cast<size_t>(end - text)));
  }
  void Verbatim(std::string_view text) {
    if (!resp3_) return Bulk(text);
    Number('=', static_cast<int64_t>(text.size() + 4));
    out_->append("txt:").append(text).append("\r\n");
  }
  void Null() { out_->append(resp3_ ? "_\r\n" : "$-1\r\n"); }  // where a string could stand
  void NullArray() {
    out_->append(resp3_ ? "_\r\n" : "*-1\r\n");
  }  // where an array or map could stand
  void Array(size_t n) { Number('*', static_cast<int64_t>(n)); }
  void Map(size_t pairs) {
    if (resp3_) {
      Number('%', static_cast<int64_t>(pairs));
    } else {
      Number('*', static_cast<int64_t>(pairs * 2));
    }
  }
  void Set(size_t n) { Number(resp3_ ? '~' : '*', static_cast<int64_t>(n)); }
  // Out of order with the replies; an array in RESP2.
  void Push(size_t n) { Number(resp3_ ? '>' : '*', static_cast<int64_t>(n)); }
  // Copies a piece that is already a reply.
  void Raw(std::string_view reply) { out_->append(reply); }

 private:
  void Number(char type, int64_t value) {
    char text[24];
    text[0] = type;
    char* end = std::to_chars(text + 1, text + 22, value).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out_->append(text, static_cast<size_t>(end - text));
  }
  void Line(char type, std::string_view text) {
    out_->push_back(type);
    AppendLine(text);
    out_->append("\r\n");
  }
  void AppendLine(std::string_view text) {
    for (char c : text) out_->push_back(c == '\r' || c == '\n' ? ' ' : c);
  }

  std::string* const out_;
  const bool resp3_;
};

}  // namespace vestq
