// What the two files of the worker share: answers of the server, and the time of a renewal. Pure.
#pragma once

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vestq::worker_words {

inline bool IsError(const redisReply* reply, std::string_view code) {
  if (reply->type != REDIS_REPLY_ERROR) return false;
  const std::string_view text(reply->str, reply->len);
  return text.substr(0, code.size()) == code &&
         (text.size() == code.size() || text[code.size()] == ' ');
}

// After a third of the lease: two more tries fit before it ends.
inline int64_t RenewAt(int64_t now_ms, int64_t left_ms) {
  return now_ms + std::max<int64_t>(left_ms / 3, 10);
}

// They live as long as the words.
inline std::vector<std::string_view> Views(const std::vector<std::string>& words) {
  return std::vector<std::string_view>(words.begin(), words.end());
}

}  // namespace vestq::worker_words
