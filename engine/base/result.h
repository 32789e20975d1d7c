// Error values. No exception crosses a layer of vestq: a function that can fail returns `Result<T>` or `Error`.
// An error has a code (what kind of failure, and so what a caller can do about it) and a text for a person.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/check.h"

namespace vestq {

// The codes of net/PROTOCOL.md; `kOk` is no error. The names on the wire are those of ErrorCodeName.
enum class ErrorCode : unsigned char {
  kOk,
  kSyntax,     // ERR: not what was expected; nothing changed
  kRange,      // RANGE: a well-formed value outside its limits; nothing changed
  kTooBig,     // TOOBIG: longer than a limit; nothing changed
  kLeaseLost,  // LEASELOST: the receipt's lease is over; nothing changed
  kNotFound,   // NOTFOUND: no such thing; nothing changed
  kBusy,       // BUSY: not in this state; nothing changed
  kFull,  // FULL: a queue limit, max-leased or the disk reserve; nothing changed, may be tried again
  kNotDurable,   // NOTDURABLE: the write's outcome is unknown
  kShutdown,     // SHUTDOWN: the engine is closing; nothing changed
  kUnsupported,  // a newer format, a foreign directory, a kernel without the feature
  kCorruption,   // stored bytes do not decode or fail their checksum
  kIo,           // the disk or the kernel failed a call
};

[[nodiscard]] constexpr std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk: return "OK";
    case ErrorCode::kSyntax: return "ERR";
    case ErrorCode::kRange: return "RANGE";
    case ErrorCode::kTooBig: return "TOOBIG";
    case ErrorCode::kLeaseLost: return "LEASELOST";
    case ErrorCode::kNotFound: return "NOTFOUND";
    case ErrorCode::kBusy: return "BUSY";
    case ErrorCode::kFull: return "FULL";
    case ErrorCode::kNotDurable: return "NOTDURABLE";
    case ErrorCode::kShutdown: return "SHUTDOWN";
    case ErrorCode::kUnsupported: return "UNSUPPORTED";
    case ErrorCode::kCorruption: return "CORRUPTION";
    case ErrorCode::kIo: return "IO";
  }
  return "ERR";
}

class [[nodiscard]] Error {
 public:
  Error() = default;  // no error
  Error(ErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}

  static Error Ok() { return Error(); }

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  const std::string& text() const { return text_; }

  // "RANGE delay must be ..." for logs and messages.
  std::string ToString() const {
    std::string out(ErrorCodeName(code_));
    if (!text_.empty()) out.append(" ").append(text_);
    return out;
  }

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string text_;
};

// A T, or the Error that stood in its way.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {  // NOLINT(google-explicit-constructor)
    CHECK(!std::get<1>(state_).ok(), "a Result without value needs an error");
  }

  bool ok() const { return state_.index() == 0; }
  // REQUIRES: ok().
  T& value() {
    CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const {
    CHECK(ok());
    return std::get<0>(state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Error::Ok() when there is a value.
  Error error() const { return ok() ? Error::Ok() : std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Returns from the enclosing function when `expression` (an Error) is one.
#define VESTQ_RETURN_IF_ERROR(expression)                                                    \
  do {                                                                                       \
    if (::vestq::Error vestq_error_ = (expression); !vestq_error_.ok()) return vestq_error_; \
  } while (false)

}  // namespace vestq
