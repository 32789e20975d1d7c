#include "net/resp_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "net/command.h"
#include "net/replies.h"

namespace vestq {
namespace {

template <typename F>
std::string Written(bool resp3, F&& write) {
  std::string out;
  RespWriter w(&out, resp3);
  write(w);
  return out;
}

TEST(RespWriter, BothProtocols) {
  const auto all = [](RespWriter& w) {
    w.Simple("OK");
    w.Int(-5);
    w.Bulk("a\r\nb");
    w.BulkNumber(9007199254740991);
    w.Null();
    w.NullArray();
    w.Array(1);
    w.Map(2);
    w.Set(3);
    w.Verbatim("x");
    w.Error("RANGE", "a\r\nb");
  };
  EXPECT_EQ(Written(false, all),
            "+OK\r\n:-5\r\n$4\r\na\r\nb\r\n$16\r\n9007199254740991\r\n$-1\r\n*-1\r\n*1\r\n*4\r\n*"
            "3\r\n$1\r\nx\r\n"
            "-RANGE a  b\r\n");
  EXPECT_EQ(Written(true, all),
            "+OK\r\n:-5\r\n$4\r\na\r\nb\r\n$16\r\n9007199254740991\r\n_\r\n_\r\n*1\r\n%2\r\n~3\r\n="
            "5\r\ntxt:x\r\n"
            "-RANGE a  b\r\n");
}

TEST(Replies, ALeasedJobIsAMapOfElevenFields) {
  Slot slot;
  LeaseRequest lease;
  LeasedJob job;
  job.receipt = {JobId(33), Fence{2, 18446744073709551615u}};
  job.queue = "q";
  job.space = "s";
  job.payload = "hello";
  job.attempt = 1;
  job.attempts = 25;
  job.priority = 4294967295;
  job.enqueued = WallTime(1700000000000);
  job.lease_left = Duration(30000);
  job.deadline = WallTime(1700000030000);
  lease.jobs.push_back(job);
  slot.request = &lease;
  const std::string body =
      "$7\r\nreceipt\r\n$25\r\n33.2.18446744073709551615\r\n$2\r\nid\r\n$2\r\n33\r\n$"
      "5\r\nqueue\r\n$1\r\nq\r\n"
      "$5\r\nspace\r\n$1\r\ns\r\n$7\r\npayload\r\n$5\r\nhello\r\n$7\r\nattempt\r\n:1\r\n$"
      "8\r\nattempts\r\n:25\r\n"
      "$8\r\npriority\r\n:4294967295\r\n$8\r\nenqueued\r\n:1700000000000\r\n$10\r\nlease-left\r\n:"
      "30000\r\n"
      "$8\r\ndeadline\r\n:1700000030000\r\n";
  const auto write = [&](RespWriter& w) { WriteReply(slot, &w); };
  EXPECT_EQ(Written(false, write), "*1\r\n*22\r\n" + body);
  EXPECT_EQ(Written(true, write), "*1\r\n%11\r\n" + body);
  EXPECT_GE(ReplyBytes(slot), Written(true, write).size());
  lease.jobs.clear();
  EXPECT_EQ(Written(false, write), "*-1\r\n");
  EXPECT_EQ(Written(true, write), "_\r\n");
  slot.unblocked_error = true;
  EXPECT_EQ(Written(true, write), "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
}

TEST(Replies, AnErrorKeepsItsCode) {
  Slot slot;
  FailRequest fail;
  slot.request = &fail;
  const auto write = [&](RespWriter& w) { WriteReply(slot, &w); };
  fail.retry_in = Duration(5000);
  EXPECT_EQ(Written(false, write), "*2\r\n$5\r\nretry\r\n:5000\r\n");
  fail.dead = true;
  EXPECT_EQ(Written(false, write), "*2\r\n$4\r\ndead\r\n:0\r\n");
  fail.error = Error(ErrorCode::kLeaseLost, "the lease is over");
  EXPECT_EQ(Written(false, write), "-LEASELOST the lease is over\r\n");
}

TEST(Commands, AreFoundInAnyCase) {
  for (const CommandSpec& spec : Commands()) {
    EXPECT_EQ(FindCommand(spec.name), &spec);
    EXPECT_NE(spec.arity, 0);
  }
  EXPECT_NE(FindCommand("enqueue"), nullptr);
  EXPECT_NE(FindCommand("CompleteMany"), nullptr);
  EXPECT_EQ(FindCommand(""), nullptr);
  EXPECT_EQ(FindCommand("ENQUEUE2"), nullptr);
  EXPECT_EQ(FindCommand(std::string(1000, 'x')), nullptr);
}

TEST(Commands, UnknownOnesAreAnsweredInRedisWords) {
  const std::string_view args[] = {"foo", "a\r\n", "b"};
  EXPECT_EQ(UnknownCommand(args),
            "unknown command 'foo', with args beginning with: 'a?"
            "?' 'b' ");
  EXPECT_EQ(UnknownSubcommand("CLIENT", "x"), "unknown subcommand 'x'. Try CLIENT HELP.");
  EXPECT_EQ(WrongArity("ENQUEUE"), "wrong number of arguments for 'enqueue' command");
}

}  // namespace
}  // namespace vestq
