#include "net/resp_parser.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace vestq {
namespace {

constexpr uint32_t kUnauthenticatedArgs = 10;
constexpr size_t kUnauthenticatedBulk = 16 << 10;
constexpr size_t kKeptArgs = 4096;

// A browser, a health probe or a cross-protocol attack. "GET /" rather than "GET ": a command may
// be called GET.
constexpr std::string_view kForeignStarts[] = {"GET /",   "POST ",     "PUT ",     "HEAD ",
                                               "DELETE ", "OPTIONS ",  "CONNECT ", "TRACE ",
                                               "PATCH ",  "PRI * HTTP"};

bool IsForeign(std::string_view input) {
  for (std::string_view start : kForeignStarts) {
    if (input.starts_with(start)) return true;
  }
  return false;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

RespParser::Status RespParser::Fail(std::string text) {
  error_ = std::move(text);
  return Status::kError;
}

RespParser::Line RespParser::ReadNumber(std::string_view input, size_t* pos, int64_t* value) {
  constexpr size_t kDigitsMax = 19;
  size_t p = *pos;
  bool negative = false;
  if (p < input.size() && input[p] == '-') {
    negative = true;
    ++p;
  }
  const size_t digits = p;
  uint64_t n = 0;
  while (p < input.size() && input[p] >= '0' && input[p] <= '9') {
    if (p - digits == kDigitsMax) return Line::kBad;
    n = n * 10 + static_cast<uint64_t>(input[p] - '0');
    ++p;
  }
  const size_t count = p - digits;
  if (count > 1 && input[digits] == '0') return Line::kBad;
  if (p == input.size()) return Line::kMore;
  if (count == 0 || input[p] != '\r' || n > static_cast<uint64_t>(INT64_MAX)) return Line::kBad;
  if (p + 1 == input.size()) return Line::kMore;
  if (input[p + 1] != '\n') return Line::kBad;
  *value = negative ? -static_cast<int64_t>(n) : static_cast<int64_t>(n);
  *pos = p + 2;
  return Line::kNumber;
}

RespParser::Status RespParser::Parse(std::string_view input, size_t* consumed) {
  *consumed = 0;
  if (state_ == State::kStart) {
    if (input.empty()) return Status::kNeedMore;
    const Status status = ParseStart(input, consumed);
    if (state_ == State::kStart)
      return status;  // an inline command, an error, or more bytes are needed
  }
  for (;;) {
    bool more = false;
    const Status status =
        state_ == State::kHeader ? ParseHeader(input, &more) : ParseBody(input, &more);
    if (status == Status::kError) return status;
    if (more) return Pause(consumed);
    if (args_left_ == 0 && state_ == State::kHeader) return Finish(input, consumed);
  }
}

RespParser::Status RespParser::ParseStart(std::string_view input, size_t* consumed) {
  if (input[0] != '*') return ParseInline(input, consumed);
  size_t pos = 1;
  int64_t count = 0;
  switch (ReadNumber(input, &pos, &count)) {
    case Line::kMore: pos_ = 1; return Status::kNeedMore;
    case Line::kBad: return Fail("Protocol error: invalid multibulk length");
    case Line::kNumber: break;
  }
  first_ = false;
  if (count > static_cast<int64_t>(limits_.args_max)) {
    return Fail("Protocol error: invalid multibulk length");
  }
  if (limits_.unauthenticated && count > kUnauthenticatedArgs) {
    return Fail("Protocol error: unauthenticated multibulk length");
  }
  if (count <= 0) {
    *consumed = pos;
    pos_ = 0;
    return Status::kEmpty;
  }
  args_left_ = static_cast<uint32_t>(count);
  pos_ = pos;
  total_ = pos;
  pieces_.clear();
  views_.clear();
  skipping_ = false;
  state_ = State::kHeader;
  return Status::kNeedMore;
}

RespParser::Status RespParser::ParseHeader(std::string_view input, bool* more) {
  if (pos_ == input.size()) {
    *more = true;
    return Status::kNeedMore;
  }
  if (input[pos_] != '$') {
    const char got = input[pos_];
    return Fail(std::string("Protocol error: expected '$', got '") +
                (got >= 0x20 && got < 0x7f ? got : '?') + "'");
  }
  size_t pos = pos_ + 1;
  int64_t size = 0;
  switch (ReadNumber(input, &pos, &size)) {
    case Line::kMore: *more = true; return Status::kNeedMore;
    case Line::kBad: return Fail("Protocol error: invalid bulk length");
    case Line::kNumber: break;
  }
  if (size < 0 || static_cast<uint64_t>(size) > limits_.bulk_hard_max) {
    return Fail("Protocol error: invalid bulk length");
  }
  if (limits_.unauthenticated && static_cast<uint64_t>(size) > kUnauthenticatedBulk) {
    return Fail("Protocol error: unauthenticated bulk length");
  }
  const size_t bytes = static_cast<size_t>(size);
  total_ += (pos - pos_) + bytes + 2;
  if (!skipping_ && (bytes > limits_.bulk_max || total_ > limits_.command_max)) {
    skipping_ = true;
    error_ = bytes > limits_.bulk_max
                 ? "an argument of " + std::to_string(bytes) + " bytes exceeds the limit of " +
                       std::to_string(limits_.bulk_max)
                 : "a command of more than " + std::to_string(limits_.command_max) + " bytes";
    pieces_.clear();
  }
  if (skipping_ && total_ > limits_.bulk_hard_max + limits_.command_max) {
    return Fail("Protocol error: command too long");
  }
  pos_ = pos;
  body_left_ = bytes + (skipping_ ? 2 : 0);
  state_ = State::kBody;
  return Status::kNeedMore;
}

RespParser::Status RespParser::ParseBody(std::string_view input, bool* more) {
  const size_t have = input.size() - pos_;
  if (skipping_) {
    const size_t take = std::min(body_left_, have);
    pos_ += take;
    body_left_ -= take;
    if (body_left_ > 0) {
      *more = true;
      return Status::kNeedMore;
    }
  } else {
    if (have < body_left_ + 2) {
      *more = true;
      return Status::kNeedMore;
    }
    if (input[pos_ + body_left_] != '\r' || input[pos_ + body_left_ + 1] != '\n') {
      return Fail("Protocol error: bulk string without CRLF at its end");
    }
    pieces_.push_back({pos_, body_left_});
    pos_ += body_left_ + 2;
  }
  --args_left_;
  state_ = State::kHeader;
  return Status::kNeedMore;
}

RespParser::Status RespParser::Pause(size_t* consumed) {
  if (skipping_) {
    *consumed = pos_;
    pos_ = 0;
  }
  return Status::kNeedMore;
}

RespParser::Status RespParser::Finish(std::string_view input, size_t* consumed) {
  *consumed = pos_;
  pos_ = 0;
  state_ = State::kStart;
  if (skipping_) return Status::kTooBig;
  views_.resize(pieces_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    views_[i] = std::string_view(input.data() + pieces_[i].offset, pieces_[i].size);
  }
  return Status::kCommand;
}

RespParser::Status RespParser::ParseInline(std::string_view input, size_t* consumed) {
  if (first_ && IsForeign(input)) return Status::kForeign;
  const unsigned char c = static_cast<unsigned char>(input[0]);
  if (c < 0x20 && !IsSpace(input[0])) {  // a TLS hello, an SSH or database handshake
    return Fail("Protocol error: expected '*' or an inline command");
  }
  const size_t limit = limits_.unauthenticated ? kUnauthenticatedBulk : limits_.inline_max;
  const size_t end = input.find('\n', pos_);
  if (end == std::string_view::npos ? input.size() > limit : end > limit) {
    return Fail("Protocol error: too big inline request");
  }
  if (end == std::string_view::npos) {
    pos_ = input.size();
    return Status::kNeedMore;
  }
  std::string_view line = input.substr(0, end);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  first_ = false;
  *consumed = end + 1;
  pos_ = 0;
  if (!SplitInline(line)) return Fail("Protocol error: unbalanced quotes in request");
  if (views_.empty()) return Status::kEmpty;
  if (IsForeign(line) ||
      (views_[0].size() == 5 && strncasecmp(views_[0].data(), "host:", 5) == 0)) {
    return Status::kForeign;
  }
  if (limits_.unauthenticated && views_.size() > kUnauthenticatedArgs) {
    return Fail("Protocol error: unauthenticated multibulk length");
  }
  return Status::kCommand;
}

// Redis's sdssplitargs: "..." with \n \r \t \b \a \xHH and \c, '...' with \', quotes only around
// whole arguments.
bool RespParser::SplitInline(std::string_view line) {
  inline_text_.clear();
  pieces_.clear();
  views_.clear();
  size_t p = 0;
  for (;;) {
    while (p < line.size() && IsSpace(line[p])) ++p;
    if (p == line.size()) break;
    const size_t begin = inline_text_.size();
    const char quote = line[p] == '"' || line[p] == '\'' ? line[p] : '\0';
    if (quote == '\0') {
      while (p < line.size() && !IsSpace(line[p]) && line[p] != '"' && line[p] != '\'') {
        inline_text_.push_back(line[p++]);
      }
      if (p < line.size() && !IsSpace(line[p])) return false;
    } else {
      ++p;
      for (;; ++p) {
        if (p == line.size()) return false;
        if (line[p] == quote) break;
        if (line[p] != '\\' || p + 1 == line.size()) {
          inline_text_.push_back(line[p]);
        } else if (quote == '\'') {
          if (line[p + 1] == '\'') ++p;
          inline_text_.push_back(line[p]);
        } else if (line[p + 1] == 'x' && p + 3 < line.size() && HexValue(line[p + 2]) >= 0 &&
                   HexValue(line[p + 3]) >= 0) {
          inline_text_.push_back(
              static_cast<char>(HexValue(line[p + 2]) * 16 + HexValue(line[p + 3])));
          p += 3;
        } else {
          constexpr std::string_view kNames = "nrtba";
          constexpr std::string_view kBytes = "\n\r\t\b\a";
          const size_t at = kNames.find(line[++p]);
          inline_text_.push_back(at == std::string_view::npos ? line[p] : kBytes[at]);
        }
      }
      ++p;
      if (p < line.size() && !IsSpace(line[p])) return false;
    }
    pieces_.push_back({begin, inline_text_.size() - begin});
  }
  for (const Piece& piece : pieces_) {
    views_.emplace_back(inline_text_.data() + piece.offset, piece.size);
  }
  return true;
}

void RespParser::Shrink() {
  if (pieces_.capacity() <= kKeptArgs || inside()) return;
  std::vector<Piece>().swap(pieces_);
  std::vector<std::string_view>().swap(views_);
}

}  // namespace vestq
