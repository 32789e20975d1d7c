#include "tools/client.h"

#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lease/duration_text.h"

namespace vestq {
namespace {

// A century is more than the kernel takes.
timeval ToTimeval(Duration d) {
  const int64_t ms = std::min<int64_t>(d.ms(), Days(365).ms());
  return timeval{static_cast<time_t>(ms / 1000), static_cast<suseconds_t>(ms % 1000 * 1000)};
}

// What kind of mistake an error reply tells of.
ErrorCode CodeOf(std::string_view text) {
  if (text.starts_with("ERR unknown command")) return ErrorCode::kUnsupported;
  for (const ErrorCode code :
       {ErrorCode::kSyntax, ErrorCode::kRange, ErrorCode::kTooBig, ErrorCode::kLeaseLost,
        ErrorCode::kNotFound, ErrorCode::kBusy, ErrorCode::kFull}) {
    const std::string_view name = ErrorCodeName(code);
    if (text.starts_with(name) && text.substr(name.size(), 1) == " ") return code;
  }
  return ErrorCode::kIo;
}

}  // namespace

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

std::string ConnectionErrorText(const redisContext& context) {
  if (context.err == REDIS_ERR_PROTOCOL)
    return std::string("what answers there is no vestq: ") + context.errstr;
  return context.errstr[0] != '\0' ? context.errstr : "closed";
}

Result<Client> Client::Connect(const Address& address, Duration patience) {
  const bool for_ever = patience == Duration(0);
  redisContext* context =
      for_ever ? redisConnect(address.host.c_str(), address.port)
               : redisConnectWithTimeout(address.host.c_str(), address.port, ToTimeval(patience));
  CHECK(context != nullptr, "hiredis could not allocate a connection");
  Client client(address, context, patience);
  if (context->err != 0) {
    return Error(ErrorCode::kIo,
                 "cannot reach " + address.ToString() + ": " + context->errstr +
                     " (is `vestq serve` running there? --server names another address)");
  }
  redisEnableKeepAlive(context);
  client.SetLimit(patience);
  return Result<Client>(std::move(client));
}

void Client::SetLimit(Duration limit) {
  limit_ = limit;
  // Without it the kernel waits for ever: no reason to give the connection up.
  if (redisSetTimeout(context_.get(), ToTimeval(limit)) != REDIS_OK) context_->err = 0;
}

void Client::WaitForEver() { SetLimit(Duration(0)); }

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
  errno = 0;
  if (redisGetReply(context_.get(), &raw) == REDIS_OK && raw != nullptr)
    return ReplyPtr(static_cast<redisReply*>(raw));
  if (context_->err == REDIS_ERR_PROTOCOL) {
    return Error(ErrorCode::kUnsupported,
                 address_.ToString() + ": " + ConnectionErrorText(*context_));
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT) {
    return Error(ErrorCode::kIo, "no answer from " + address_.ToString() + " within " +
                                     DurationToText(limit_) +
                                     " (--timeout): what was asked may or may not be done");
  }
  return Error(ErrorCode::kIo, "the connection to " + address_.ToString() +
                                   " went away: " + ConnectionErrorText(*context_));
}

Result<ReplyPtr> Client::Call(const std::vector<std::string_view>& command) {
  Append(command);
  Result<ReplyPtr> reply = Next();
  if (!reply.ok() || (*reply)->type != REDIS_REPLY_ERROR) return reply;
  const std::string text = ReplyText(**reply);
  return Error(CodeOf(text), text);
}

Result<ReplyPtr> Client::CallWaiting(const std::vector<std::string_view>& command,
                                     Duration at_most) {
  if (const Result<ReplyPtr> alive = Call({"PING"}); !alive.ok()) return alive.error();
  const bool for_ever = at_most == Duration(0) || patience_ == Duration(0);
  SetLimit(for_ever ? Duration(0) : Duration(at_most.ms() + patience_.ms()));
  Result<ReplyPtr> reply = Call(command);
  SetLimit(patience_);
  return reply;
}

}  // namespace vestq
