// What every request must keep to, whoever made it: the network, or a program that embeds the engine. The
// limits are those of engine/base/limits.h; a core asks CheckRequest before it carries anything out, and
// net/ asks the same functions where it wants to refuse earlier (commands of a MULTI).
//
// LIMIT-1: what is outside its limits is refused with an error that names the thing, its value and the
// limits, and nothing changes: no number of a request is ever clamped or wrapped.
//
// Pure; any thread. A request that is in order costs some comparisons and a pass over the bytes of its
// names, and allocates nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/request.h"

namespace vestq {

// `payload_max`: what memory allows (Engine::max_payload). Errors: kRange, kTooBig (bytes of a payload, a
// value, a checkpoint or a result), kSyntax (a name's bytes, options that do not go together). A group's
// members are checked each on its own; `failed` of the group says which one.
[[nodiscard]] Error CheckRequest(Request* request, uint64_t payload_max);

// Names. kRange: their length; kSyntax: a byte that may not stand there.
[[nodiscard]] Error CheckQueueName(std::string_view name);
[[nodiscard]] Error CheckSpaceName(std::string_view space);
[[nodiscard]] Error CheckScheduleName(std::string_view name);
// "<what> of 201 bytes is outside 0 to 200".
[[nodiscard]] Error CheckBytes(std::string_view what, size_t size, size_t least, size_t most);

// For use in a message: 'text', unprintable bytes as \xHH, at most 64 bytes of it.
[[nodiscard]] std::string Quote(std::string_view text);

}  // namespace vestq
