#include "tools/client.h"

#include <utility>

namespace vestq {

std::string ReplyText(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
  return reply.str == nullptr ? std::string() : std::string(reply.str, reply.len);
}

const redisReply* FindInMap(const redisReply& map, std::string_view key) {
  if (map.type != REDIS_REPLY_ARRAY) return nullptr;
  for (size_t i = 0; i + 1 < map.elements; i += 2) {
    const redisReply* name = map.element[i];
    if (name->str != nullptr && std::string_view(name->str, name->len) == key)
      return map.element[i + 1];
  }
  return nullptr;
}

Result<Client> Client::Connect(const Address& address) {
  const timeval timeout{10, 0};
  redisContext* context = redisConnectWithTimeout(address.host.c_str(), address.port, timeout);
  CHECK(context != nullptr, "hiredis could not allocate a connection");
  Client client(address, context);
  if (context->err != 0) {
    return Error(ErrorCode::kIo,
                 "cannot reach " + address.ToString() + ": " + context->errstr +
                     " (is `vestq serve` running there? --server names another address)");
  }
  redisEnableKeepAlive(context);
  return Result<Client>(std::move(client));
}

void Client::Append(const std::vector<std::string_view>& command) {
  std::vector<const char*> words;
  std::vector<size_t> sizes;
  for (const std::string_view word : command) {
    words.push_back(word.data() == nullptr ? "" : word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(),
                         sizes.data());
}

Result<ReplyPtr> Client::Next() {
  void* raw = nullptr;
  if (redisGetReply(context_.get(), &raw) != REDIS_OK || raw == nullptr) {
    const std::string why = context_->errstr[0] != '\0' ? context_->errstr : "closed";
    return Error(ErrorCode::kIo, "the connection to " + address_.ToString() + " went away: " + why);
  }
  return ReplyPtr(static_cast<redisReply*>(raw));
}

Result<ReplyPtr> Client::Call(const std::vector<std::string_view>& command) {
  Append(command);
  Result<ReplyPtr> reply = Next();
  if (reply.ok() && (*reply)->type == REDIS_REPLY_ERROR) {
    return Error(ErrorCode::kSyntax, ReplyText(**reply));
  }
  return reply;
}

}  // namespace vestq
