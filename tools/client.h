// A blocking connection to the server for the short sub-commands (enqueue, stats). RESP2 over
// hiredis. One thread.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "tools/address.h"

namespace vestq {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, FreeReply>;

// The text of a status, string or error reply, or of an integer.
[[nodiscard]] std::string ReplyText(const redisReply& reply);
// The value that stands under `key` in a flat map; nullptr when there is none.
[[nodiscard]] const redisReply* FindInMap(const redisReply& map, std::string_view key);

class Client {
 public:
  // Blocks for at most 10 s. Errors: kIo, naming the address and what to check.
  [[nodiscard]] static Result<Client> Connect(const Address& address);

  // Puts a command into the output buffer; sends nothing.
  void Append(const std::vector<std::string_view>& command);
  // Sends what is buffered and waits for the next reply, which may be an error reply. Errors: kIo
  // (the connection went away: what was sent and not answered has an unknown outcome).
  [[nodiscard]] Result<ReplyPtr> Next();
  // Append and Next; an error reply becomes an Error with the server's words (kSyntax).
  [[nodiscard]] Result<ReplyPtr> Call(const std::vector<std::string_view>& command);

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  Client(Address address, redisContext* context)
      : address_(std::move(address)), context_(context) {}

  Address address_;
  std::unique_ptr<redisContext, FreeContext> context_;
};

}  // namespace vestq
