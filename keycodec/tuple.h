// Tuples of FoundationDB's tuple layer, as far as keys of queues need them: byte strings, text and
// integers of 64 bits signed. Source: apple/foundationdb, design/tuple.md. No key of vestq's own
// store is one; they are what jobs come and go with (`vestq export --format fdb`). Pure: no clock, no store, no
// threads.
//
//   bytes    01, the bytes with 00 as 00 FF, 00
//   text     02, its UTF-8 with 00 as 00 FF, 00
//   integer  14 + n (above 0) or 14 - n (below 0), then n bytes big-endian, as few as hold it:
//            the value, or value + 256^n - 1; 0 is 14 alone
//
// TUPLE-1: byte order is tuple order: by element, bytes before text before integers, and a tuple
// before its continuations. So the key of a scan's end can be compared as bytes.
// TUPLE-2: encoding and decoding are inverse, and nothing but an encoded tuple decodes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/result.h"

namespace vestq::keycodec {

struct TupleBytes {
  std::string value;
  auto operator<=>(const TupleBytes&) const = default;
};
struct TupleText {
  std::string value;  // UTF-8
  auto operator<=>(const TupleText&) const = default;
};
// In the order of their type codes, so that comparing tuples is TUPLE-1's order.
using TupleElement = std::variant<TupleBytes, TupleText, int64_t>;
using Tuple = std::vector<TupleElement>;

// Whether the bytes are UTF-8 as the Unicode standard has it: shortest forms, no surrogates. What is
// not cannot be a TupleText.
[[nodiscard]] bool IsUtf8(std::string_view bytes);

// "a byte string", "a string", "an integer": for errors about an element of another type.
[[nodiscard]] std::string_view TupleTypeName(const TupleElement& element);

// Appends the encoded tuple. REQUIRES: IsUtf8 of each text. Never fails.
void AppendTuple(const Tuple& tuple, std::string* out);

// Decodes a whole key. Errors, each naming the byte: kUnsupported for an element of a type that is
// not carried (null, nested, longer integers, floats, booleans, UUIDs, versionstamps), naming it;
// kCorruption for what is no tuple: a string without an end, text that is not UTF-8, an integer that
// is longer than need be.
[[nodiscard]] Result<Tuple> DecodeTuple(std::string_view key);

}  // namespace vestq::keycodec
