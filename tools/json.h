// What the daemon says as JSON: the one encoding of `--json` and of exported lines. Pure but for PrintJson.
#pragma once

#include <hiredis/hiredis.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace vestq {

// Stands behind the name of a field whose bytes are base64, since they are no UTF-8.
inline constexpr std::string_view kBase64Suffix = "-base64";

// A flat map of the daemon as an object, nothing lost: numbers stay numbers; bytes stand as they are where
// they are UTF-8, control characters escaped as JSON does, else as base64 in a field NAME-base64; headers are pairs [name, value], in their order,
// and any other array is a list of words.
nlohmann::ordered_json JsonOfMap(const redisReply& map);
// One line on stdout. What is no UTF-8 in it (a word of the command line) is replaced.
void PrintJson(const nlohmann::ordered_json& json);

}  // namespace vestq
