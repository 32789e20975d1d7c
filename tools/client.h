// A blocking connection to the server for the short sub-commands (enqueue, stats). RESP2 over
// hiredis. One thread.
//
// CLIENT-1: no call waits for longer than the connection's patience for a server that is silent, unless the
// command is one that waits (CallWaiting, WaitForEver).
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/time.h"
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
// What to say of a connection on which hiredis met an error: something that is no vestq is told as such.
[[nodiscard]] std::string ConnectionErrorText(const redisContext& context);

// Of a silent server, unless --timeout says something else.
inline constexpr char kDefaultPatience[] = "30s";

class Client {
 public:
  // Blocks for at most `patience`, which is also how long each answer is waited for; 0 is for ever. Errors:
  // kIo, naming the address and what to check.
  [[nodiscard]] static Result<Client> Connect(const Address& address, Duration patience);

  // Puts a command into the output buffer; sends nothing.
  void Append(const std::vector<std::string_view>& command);
  // Sends what is buffered and waits for the next reply, which may be an error reply. Errors: kIo
  // (the connection went away, or nothing came within the patience: what was sent and not answered has an
  // unknown outcome), kUnsupported (what answers is no vestq).
  [[nodiscard]] Result<ReplyPtr> Next();
  // Append and Next; an error reply becomes an Error with the server's words: kSyntax for ERR, kRange for RANGE
  // (the words of the command are wrong), kUnsupported for a command that is not known there, the codes of TOOBIG,
  // LEASELOST, NOTFOUND, BUSY and FULL, kIo for the others.
  [[nodiscard]] Result<ReplyPtr> Call(const std::vector<std::string_view>& command);
  // The same of a command that is not answered at once: within `at_most` and the patience, 0 is for ever. That the
  // server is there and answers is found out before, by a PING.
  [[nodiscard]] Result<ReplyPtr> CallWaiting(const std::vector<std::string_view>& command,
                                             Duration at_most);
  // From now on Next waits as long as it takes.
  void WaitForEver();

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  Client(Address address, redisContext* context, Duration patience)
      : address_(std::move(address)), context_(context), patience_(patience), limit_(patience) {}
  void SetLimit(Duration limit);

  Address address_;
  std::unique_ptr<redisContext, FreeContext> context_;
  Duration patience_;
  Duration limit_;  // of the next answer; 0: none
};

}  // namespace vestq
