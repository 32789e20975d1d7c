#include "keycodec/reader.h"

#include <string>

namespace vestq::keycodec {

void Reader::Fail(const char* field, const char* why, ErrorCode code) {
  if (why_ != nullptr) return;
  field_ = field;
  why_ = why;
  code_ = code;
  failed_at_ = position();
  at_ = end_;
}

void Reader::Finished(Reader* inside) {
  if (inside->ok() && !inside->empty()) inside->Fail("end", "bytes left over");
  if (inside->ok() || !ok()) return;
  const auto start = static_cast<size_t>(inside->begin_ - begin_);
  Fail(inside->field_, inside->why_, inside->code_);
  failed_at_ = start + inside->failed_at_;
}

uint64_t Reader::LongVarint(const char* field, uint64_t max) {
  uint64_t value = 0;
  const char* at = at_;
  for (int shift = 0;; shift += 7) {
    if (at == end_) {
      Fail(field, "ends early");
      return 0;
    }
    const auto byte = static_cast<uint8_t>(*at++);
    if (shift == 63 && byte > 1) {
      Fail(field, "number too long");
      return 0;
    }
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) {
      if (byte == 0 && shift > 0) {
        Fail(field, "number not in its shortest form");
        return 0;
      }
      break;
    }
  }
  if (value > max) {
    Fail(field, "out of range");
    return 0;
  }
  at_ = at;
  return value;
}

Error Reader::Finish() {
  if (ok() && !empty()) Fail("end", "bytes left over");
  if (ok()) return Error::Ok();
  std::string text(what_);
  text.append(": ").append(field_).append(": ").append(why_);
  text.append(" (byte ").append(std::to_string(failed_at_)).append(")");
  return Error(code_, std::move(text));
}

}  // namespace vestq::keycodec
