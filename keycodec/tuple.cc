#include "keycodec/tuple.h"

#include <bit>
#include <cstddef>
#include <utility>

#include "engine/base/check.h"
#include "keycodec/reader.h"

namespace vestq::keycodec {
namespace {

constexpr char kField[] = "element";
constexpr uint8_t kBytesCode = 0x01;
constexpr uint8_t kTextCode = 0x02;
constexpr uint8_t kIntegerZero = 0x14;
constexpr uint8_t kIntegerMost = kIntegerZero + 8;
constexpr uint8_t kIntegerLeast = kIntegerZero - 8;
constexpr uint64_t kMagnitudeMost = uint64_t{1} << 63;  // of the least integer

void AppendString(uint8_t code, std::string_view value, std::string* out) {
  out->push_back(static_cast<char>(code));
  for (const char c : value) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
  }
  out->push_back('\0');
}

void AppendInteger(int64_t value, std::string* out) {
  const bool negative = value < 0;
  const auto bits = static_cast<uint64_t>(value);
  const uint64_t magnitude = negative ? ~bits + 1 : bits;
  const int bytes = (std::bit_width(magnitude) + 7) / 8;
  out->push_back(static_cast<char>(negative ? kIntegerZero - bytes : kIntegerZero + bytes));
  // value + 256^n - 1 of a negative one has, in n bytes, the inverted bits of its magnitude.
  const uint64_t shown = negative ? ~magnitude : magnitude;
  for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(shown >> (8 * i)));
}

std::string ReadString(Reader* reader) {
  std::string out;
  for (;;) {
    out.append(reader->Until("string", '\0'));
    if (!reader->ok()) return out;
    if (reader->empty() || reader->Peek() != 0xff) return out;
    reader->Byte("string");
    out.push_back('\0');
  }
}

int64_t ReadInteger(uint8_t code, Reader* reader) {
  const bool negative = code < kIntegerZero;
  const size_t bytes = negative ? kIntegerZero - code : code - kIntegerZero;
  uint64_t magnitude = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const uint8_t byte = reader->Byte("integer");
    magnitude = magnitude << 8 | static_cast<uint8_t>(negative ? ~byte : byte);
  }
  if (!reader->ok()) return 0;
  if (bytes > 0 && magnitude >> (8 * (bytes - 1)) == 0) {
    reader->Fail("integer", "not in its shortest form");
    return 0;
  }
  if (magnitude > kMagnitudeMost - (negative ? 0 : 1)) {
    reader->Fail("integer", "outside 64 bits signed", ErrorCode::kUnsupported);
    return 0;
  }
  return static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
}

// What a code that is not carried stands for.
const char* ForeignType(uint8_t code) {
  switch (code) {
    case 0x00: return "null is not carried";
    case 0x05: return "a nested tuple is not carried";
    case 0x0b:
    case 0x1d: return "an integer of more than 64 bits is not carried";
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23: return "a floating point number is not carried";
    case 0x26:
    case 0x27: return "a boolean is not carried";
    case 0x30: return "a UUID is not carried";
    case 0x31: return "a 64-bit identifier is not carried";
    case 0x32:
    case 0x33: return "a versionstamp is not carried";
    default: return nullptr;
  }
}

void ReadElement(Reader* reader, Tuple* tuple) {
  const uint8_t code = reader->Peek();
  if (code == kBytesCode) {
    reader->Byte(kField);
    tuple->emplace_back(TupleBytes{ReadString(reader)});
  } else if (code == kTextCode) {
    reader->Byte(kField);
    std::string text = ReadString(reader);
    if (reader->ok() && !IsUtf8(text)) reader->Fail("string", "not UTF-8");
    tuple->emplace_back(TupleText{std::move(text)});
  } else if (code >= kIntegerLeast && code <= kIntegerMost) {
    reader->Byte(kField);
    tuple->emplace_back(ReadInteger(code, reader));
  } else if (const char* const foreign = ForeignType(code)) {
    reader->Fail(kField, foreign, ErrorCode::kUnsupported);
  } else {
    reader->Fail(kField, "not a type of the tuple layer");
  }
}

// How many bytes continue a character that begins so, and the range of the first of them; a size of
// -1: no character begins so.
struct Continuation {
  int size;
  uint8_t least = 0x80;
  uint8_t most = 0xbf;
};
Continuation ContinuationOf(uint8_t lead) {
  if (lead < 0x80) return {0};
  if (lead < 0xc2) return {-1};
  if (lead < 0xe0) return {1};
  if (lead == 0xe0) return {2, 0xa0, 0xbf};
  if (lead == 0xed) return {2, 0x80, 0x9f};  // no surrogates
  if (lead < 0xf0) return {2};
  if (lead == 0xf0) return {3, 0x90, 0xbf};
  if (lead < 0xf4) return {3};
  if (lead == 0xf4) return {3, 0x80, 0x8f};
  return {-1};
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const Continuation next = ContinuationOf(static_cast<uint8_t>(bytes[i++]));
    if (next.size < 0) return false;
    for (int k = 0; k < next.size; ++k, ++i) {
      if (i == bytes.size()) return false;
      const auto byte = static_cast<uint8_t>(bytes[i]);
      if (byte < (k == 0 ? next.least : 0x80) || byte > (k == 0 ? next.most : 0xbf)) return false;
    }
  }
  return true;
}

std::string_view TupleTypeName(const TupleElement& element) {
  if (std::holds_alternative<TupleBytes>(element)) return "a byte string";
  if (std::holds_alternative<TupleText>(element)) return "a string";
  return "an integer";
}

void AppendTuple(const Tuple& tuple, std::string* out) {
  for (const TupleElement& element : tuple) {
    if (const auto* bytes = std::get_if<TupleBytes>(&element)) {
      AppendString(kBytesCode, bytes->value, out);
    } else if (const auto* text = std::get_if<TupleText>(&element)) {
      DCHECK(IsUtf8(text->value));
      AppendString(kTextCode, text->value, out);
    } else {
      AppendInteger(std::get<int64_t>(element), out);
    }
  }
}

Result<Tuple> DecodeTuple(std::string_view key) {
  Reader reader("tuple", key);
  Tuple tuple;
  while (reader.ok() && !reader.empty()) ReadElement(&reader, &tuple);
  return reader.Finish(std::move(tuple));
}

}  // namespace vestq::keycodec
