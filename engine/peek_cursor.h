// The cursor of PEEK: where a listing goes on. Text for the client, opaque to it: hexadecimal, with a
// checksum over the place and over what is listed, so that a cursor of another queue, state or space,
// or a mistyped one, is refused and never misread (PEEK-1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/handling_request.h"

namespace vestq {

struct PeekCursor {
  std::string key;  // ready, scheduled, waiting, dead: the first key that counts
  // leased: a place in the lease table of a core, in one run of the store.
  uint32_t epoch = 0;
  uint16_t core = 0;
  uint32_t lease = 0;

  static constexpr char kWrong[] =
      "CURSOR: 0 or what the last PEEK of this queue, state and space gave is expected";

  std::string Text(const PeekRequest& request) const;
  // kSyntax when it is not one of this listing.
  static Result<PeekCursor> Parse(const PeekRequest& request, std::string_view text);
};

}  // namespace vestq
