#include "tools/json.h"

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <string>
#include <utility>

#include "keycodec/tuple.h"
#include "tools/client.h"
#include "tools/encoding.h"

namespace vestq {
namespace {

using nlohmann::ordered_json;

void Put(const std::string& name, const std::string& bytes, ordered_json* out) {
  if (keycodec::IsUtf8(bytes)) {
    (*out)[name] = bytes;
  } else {
    (*out)[name + std::string(kBase64Suffix)] = ToBase64(bytes);
  }
}

void PutHeaders(const redisReply& headers, ordered_json* out) {
  bool text = true;
  for (size_t i = 0; i < headers.elements; ++i)
    text = text && keycodec::IsUtf8(ReplyText(*headers.element[i]));
  ordered_json pairs = ordered_json::array();
  for (size_t i = 0; i + 1 < headers.elements; i += 2) {
    const std::string name = ReplyText(*headers.element[i]);
    const std::string value = ReplyText(*headers.element[i + 1]);
    pairs.push_back(text ? ordered_json::array({name, value})
                         : ordered_json::array({ToBase64(name), ToBase64(value)}));
  }
  (*out)[text ? "headers" : "headers-base64"] = std::move(pairs);
}

}  // namespace

ordered_json JsonOfMap(const redisReply& map) {
  ordered_json out = ordered_json::object();
  for (size_t i = 0; i + 1 < map.elements; i += 2) {
    const std::string name = ReplyText(*map.element[i]);
    const redisReply& value = *map.element[i + 1];
    if (value.type == REDIS_REPLY_INTEGER) {
      out[name] = value.integer;
    } else if (value.type == REDIS_REPLY_NIL) {
      out[name] = nullptr;
    } else if (value.type == REDIS_REPLY_ARRAY && name == "headers") {
      PutHeaders(value, &out);
    } else if (value.type == REDIS_REPLY_ARRAY) {
      out[name] = ordered_json::array();
      for (size_t k = 0; k < value.elements; ++k) out[name].push_back(ReplyText(*value.element[k]));
    } else {
      Put(name, ReplyText(value), &out);
    }
  }
  return out;
}

void PrintJson(const ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace vestq
