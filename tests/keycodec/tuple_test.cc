// TUPLE-1, TUPLE-2: keys of FoundationDB's tuple layer. The golden bytes come from FoundationDB's own
// Python binding (fdb/tuple.py); tests/clients/fdb_tuple.mjs compares with another implementation.
#include "keycodec/tuple.h"

#include <gtest/gtest.h>

#include <compare>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/keycodec/random.h"

namespace vestq::keycodec {
namespace {

using namespace std::string_literals;
using testing::Random;

std::string Unhex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

std::string Encoded(const Tuple& tuple) {
  std::string out;
  AppendTuple(tuple, &out);
  return out;
}

TupleBytes B(std::string value) { return {std::move(value)}; }
TupleText T(std::string value) { return {std::move(value)}; }
constexpr int64_t I(int64_t value) { return value; }

TEST(TupleGolden, KeysOfAQueue) {
  const std::vector<std::pair<Tuple, std::string>> golden = {
      {{T("queue"), I(1), T("gc"), T("b1"), I(1'700'000'000'000), I(0), B("\x00\x01\xff\xfe"s)},
       "02717565756500"
       "1501"
       "02676300"
       "02623100"
       "1a018bcfe56800"
       "14"
       "0100ff01fffe00"},
      {{T("queue"), I(1), T("gc"), T(""), I(0), I(-1), B("")},
       "02717565756500"
       "1501"
       "02676300"
       "0200"
       "14"
       "13fe"
       "0100"},
      {{T("queue"), I(0), T("lifecycle"), T("t\0x"s), I(255), I(5), B("\x00\x01\x02\x03"s)},
       "02717565756500"
       "14"
       "026c6966656379636c6500"
       "027400ff7800"
       "15ff"
       "1505"
       "0100ff01020300"},
      {{T("queue"), I(1), T("gc"), T("b1"), I(256), I(300), B("\xff\xff")},
       "02717565756500"
       "1501"
       "02676300"
       "02623100"
       "160100"
       "16012c"
       "01ffff00"},
      // The beginning and, without its last byte, the end of a scan for what has vested.
      {{T("queue"), I(1), T("gc"), T("b1"), I(0)}, "027175657565001501026763000262310014"},
      {{T("queue"), I(1), T("gc"), T("b1"), I(1'700'000'000'001)},
       "02717565756500150102676300026231001a018bcfe56801"},
      // Both ends of the integers.
      {{I(INT64_MAX), I(INT64_MIN)}, "1c7fffffffffffffff0c7fffffffffffffff"},
      {{I(-255), I(-256), I(-65'536)},
       "1300"
       "12feff"
       "11feffff"},
  };
  for (const auto& [tuple, hex] : golden) {
    const std::string bytes = Unhex(hex);
    EXPECT_EQ(Encoded(tuple), bytes) << hex;
    const Result<Tuple> decoded = DecodeTuple(bytes);
    ASSERT_TRUE(decoded.ok()) << hex << ": " << decoded.error().ToString();
    EXPECT_EQ(*decoded, tuple) << hex;
  }
}

int64_t AnyInteger(Random& r) {
  const auto value = static_cast<int64_t>(r.Number(INT64_MAX));
  return r.OneIn(2) ? value : -1 - value;
}

// Characters of each length, and those at whose bytes an order could break.
std::string AnyText(Random& r) {
  static const std::vector<std::string> kCharacters = {
      "\0"s,    "\x01",   "a",      "\x7f",       "\u0080",    "\u07ff",
      "\u0800", "\ud7fb", "\uffff", "\U00010000", "\U0010ffff"};
  std::string out;
  for (uint64_t n = r.Below(6); n > 0; --n) out += kCharacters[r.Below(kCharacters.size())];
  return out;
}

TupleElement AnyElement(Random& r) {
  switch (r.Below(3)) {
    case 0: return TupleBytes{r.Bytes(r.Below(6))};
    case 1: return TupleText{AnyText(r)};
    default: return AnyInteger(r);
  }
}

Tuple AnyTuple(Random& r) {
  Tuple out;
  for (uint64_t n = r.Below(5); n > 0; --n) out.push_back(AnyElement(r));
  return out;
}

// Another tuple that begins as this one does.
Tuple Near(Tuple tuple, Random& r) {
  if (r.OneIn(4) || tuple.empty()) {
    tuple.push_back(AnyElement(r));
    return tuple;
  }
  TupleElement& element = tuple[r.Below(tuple.size())];
  if (auto* bytes = std::get_if<TupleBytes>(&element)) {
    bytes->value += r.Bytes(r.Below(3));
  } else if (auto* text = std::get_if<TupleText>(&element)) {
    text->value += AnyText(r);
  } else {
    element = AnyInteger(r);
  }
  if (r.OneIn(4)) tuple.resize(r.Below(tuple.size() + 1));
  return tuple;
}

TEST(TupleOrder, ByteOrderIsTupleOrder) {
  Random r(20'261'201);
  for (int i = 0; i < 300'000; ++i) {
    const Tuple a = AnyTuple(r);
    const Tuple b = r.OneIn(3) ? AnyTuple(r) : Near(a, r);
    const std::string x = Encoded(a), y = Encoded(b);
    ASSERT_EQ(x <=> y, a <=> b) << "TUPLE-1, pair " << i;
  }
}

TEST(TupleRoundTrip, WhatIsEncodedDecodes) {
  Random r(7);
  for (int i = 0; i < 200'000; ++i) {
    const Tuple tuple = AnyTuple(r);
    const Result<Tuple> decoded = DecodeTuple(Encoded(tuple));
    ASSERT_TRUE(decoded.ok()) << decoded.error().ToString();
    ASSERT_EQ(*decoded, tuple) << "TUPLE-2, tuple " << i;
  }
}

TEST(TupleRoundTrip, NothingElseDecodes) {
  Random r(8);
  int decoded = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes = Encoded(AnyTuple(r));
    switch (r.Below(3)) {
      case 0: bytes.resize(r.Below(bytes.size() + 1)); break;
      case 1:
        if (!bytes.empty()) bytes[r.Below(bytes.size())] = static_cast<char>(r.Below(256));
        break;
      default: bytes = r.Bytes(r.Below(12)); break;
    }
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const Result<Tuple> tuple = DecodeTuple(std::string_view(exact.data(), exact.size()));
    if (!tuple.ok()) {
      EXPECT_TRUE(tuple.error().code() == ErrorCode::kCorruption ||
                  tuple.error().code() == ErrorCode::kUnsupported);
      continue;
    }
    ++decoded;
    ASSERT_EQ(Encoded(*tuple), bytes) << "TUPLE-2";
  }
  EXPECT_GT(decoded, 10'000);
}

TEST(TupleRefusal, NamesWhatAndWhere) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"00", "tuple: element: null is not carried (byte 0)"},
      {"0261000501610000", "tuple: element: a nested tuple is not carried (byte 3)"},
      {"15011d08ffffffffffffffff",
       "tuple: element: an integer of more than 64 bits is not carried"},
      {"0b", "more than 64 bits"},
      {"1c8000000000000000", "tuple: integer: outside 64 bits signed (byte 9)"},
      {"0c7ffffffffffffffe", "tuple: integer: outside 64 bits signed"},
      {"20c0000000", "a floating point number is not carried"},
      {"27", "a boolean is not carried"},
      {"3000112233445566778899aabbccddeeff", "a UUID is not carried"},
      {"33000000000000000000000000", "a versionstamp is not carried"},
      {"ff", "tuple: element: not a type of the tuple layer (byte 0)"},
      {"0161", "tuple: string: ends early"},
      {"026100ff", "tuple: string: ends early"},
      {"02c000", "tuple: string: not UTF-8"},
      {"02eda08000", "tuple: string: not UTF-8"},
      {"16ff", "tuple: integer: ends early"},
      {"1500", "tuple: integer: not in its shortest form"},
      {"160001", "tuple: integer: not in its shortest form"},
      {"12fffe", "tuple: integer: not in its shortest form"},
      {"13ff", "tuple: integer: not in its shortest form"},
  };
  for (const auto& [hex, why] : refused) {
    const Result<Tuple> tuple = DecodeTuple(Unhex(hex));
    ASSERT_FALSE(tuple.ok()) << hex;
    EXPECT_NE(tuple.error().text().find(why), std::string::npos) << tuple.error().text();
  }
}

TEST(TupleText, IsUtf8KnowsTheEdges) {
  for (const char* good : {"", "a", "\u0080", "\u07ff", "\u0800", "\ud7fb", "\ue000", "\uffff",
                           "\U00010000", "\U0010ffff"})
    EXPECT_TRUE(IsUtf8(good)) << good;
  EXPECT_TRUE(IsUtf8("a\0b"s));
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe1\x80",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(IsUtf8(bad));
}

}  // namespace
}  // namespace vestq::keycodec
