// An incremental parser of Redis requests: arrays of bulk strings ("multibulk") and inline
// commands.
//
// The caller keeps the unread bytes of a connection contiguous and calls Parse with all of them;
// the parser remembers how far it got, so no byte is looked at twice. Arguments are views into the
// caller's bytes (into the parser's own buffer for an inline command). Owned by one thread;
// allocates only when a command has more arguments than any before.
//
// Invariants:
//  PARSE-1  Nothing is allocated from a claimed length: memory follows the bytes that have arrived.
//  PARSE-2  A command over a limit is swallowed to its exact end (kTooBig) or ends the connection
//  (kError); its bytes
//           are never parsed as commands.
//  PARSE-3  The outcome does not depend on how the bytes were cut into calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vestq {

struct RespLimits {
  size_t bulk_max = size_t{1} << 20;        // longer: swallowed, kTooBig
  size_t bulk_hard_max = size_t{64} << 20;  // longer, or as much swallowed in one command: kError
  size_t command_max = size_t{5} << 20;     // all bytes of a command; more: swallowed, kTooBig
  uint32_t args_max = 1 << 20;
  size_t inline_max = 64 << 10;
  bool unauthenticated = false;  // then 10 arguments and 16 KiB (Redis CVE-2021-32675)
};

class RespParser {
 public:
  enum class Status : uint8_t {
    kNeedMore,  // `consumed` bytes at the front are done with (swallowed); call again with more
    kCommand,   // args() is a command of `consumed` bytes
    kEmpty,     // an empty line or array of `consumed` bytes: no command, no answer
    kTooBig,    // a command over a limit ended at `consumed`; error() says which limit
    kError,     // error() is a Redis "Protocol error: ..." text; answer it and close
    kForeign,   // the peer speaks HTTP; close without an answer
  };

  explicit RespParser(const RespLimits& limits) : limits_(limits) {}

  // REQUIRES: `input` begins with the bytes given to the last call, less those it reported as
  // consumed.
  Status Parse(std::string_view input, size_t* consumed);

  // The command's arguments, its name first. Valid until the input moves or Parse is called again.
  std::span<const std::string_view> args() const { return views_; }
  const std::string& error() const { return error_; }

  // True when some bytes of an unfinished command have been seen.
  bool inside() const { return state_ != State::kStart || pos_ > 0; }
  void set_unauthenticated(bool on) { limits_.unauthenticated = on; }
  // Gives back memory that an unusually long command took.
  void Shrink();

 private:
  enum class State : uint8_t { kStart, kHeader, kBody };
  enum class Line : uint8_t { kNumber, kMore, kBad };
  struct Piece {
    size_t offset;
    size_t size;
  };

  static Line ReadNumber(std::string_view input, size_t* pos, int64_t* value);
  Status ParseStart(std::string_view input, size_t* consumed);
  Status ParseInline(std::string_view input, size_t* consumed);
  bool SplitInline(std::string_view line);
  Status ParseHeader(std::string_view input, bool* more);
  Status ParseBody(std::string_view input, bool* more);
  Status Finish(std::string_view input, size_t* consumed);
  Status Pause(size_t* consumed);
  Status Fail(std::string text);

  RespLimits limits_;
  State state_ = State::kStart;
  bool first_ = true;      // nothing parsed on this connection yet
  bool skipping_ = false;  // the command is over a limit
  uint32_t args_left_ = 0;
  size_t body_left_ = 0;  // of the bulk under way: its size, or what is left to swallow
  size_t pos_ = 0;        // in the input
  size_t total_ = 0;      // bytes claimed by the command so far
  std::vector<Piece> pieces_;
  std::vector<std::string_view> views_;
  std::string inline_text_;
  std::string error_;
};

}  // namespace vestq
