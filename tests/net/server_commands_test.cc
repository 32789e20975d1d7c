// Commands on the connection and the server, as clients of Redis use them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerCommands : public ServerTest {};

TEST_P(ServerCommands, AnswerAsRedisDoes) {
  OPEN_OR_SKIP();
  Client c(port());
  const struct {
    std::vector<std::string_view> args;
    const char* reply;
  } cases[] = {
      {{"ping"}, "PONG"},
      {{"PING", "hi"}, "hi"},
      {{"PING", "a", "b"}, "-ERR wrong number of arguments for 'ping' command"},
      {{"ECHO", "x"}, "x"},
      {{"ECHO"}, "-ERR wrong number of arguments for 'echo' command"},
      {{"SELECT", "0"}, "OK"},
      {{"SELECT", "1"}, "-ERR DB index is out of range"},
      {{"SELECT", "x"}, "-ERR value is not an integer or out of range"},
      {{"AUTH", "secret"},
       "-ERR AUTH <password> called without any password configured for the default user. Are you "
       "sure your "
       "configuration is correct?"},
      {{"AUTH", "me", "secret"}, "-WRONGPASS invalid username-password pair or user is disabled."},
      {{"HELLO", "3", "AUTH", "me", "x"},
       "-WRONGPASS invalid username-password pair or user is disabled."},
      {{"HELLO", "x"}, "-ERR Protocol version is not an integer or out of range"},
      {{"CLUSTER", "INFO"}, "-ERR This instance has cluster support disabled"},
      {{"CLIENT", "SETNAME", "a b"},
       "-ERR Client names cannot contain spaces, newlines or special characters."},
      {{"CLIENT", "SETNAME", "me"}, "OK"},
      {{"CLIENT", "GETNAME"}, "me"},
      {{"CLIENT", "SETINFO", "LIB-NAME", "ioredis"}, "OK"},
      {{"CLIENT", "SETINFO", "lib-ver", "6.0.0"}, "OK"},
      {{"CLIENT", "SETINFO", "colour", "red"}, "-ERR Unrecognized option 'colour'"},
      {{"CLIENT", "NO-EVICT", "ON"}, "OK"},
      {{"CLIENT", "NO-TOUCH", "off"}, "OK"},
      {{"CLIENT", "TRACKING", "ON"}, "-ERR unknown subcommand 'TRACKING'. Try CLIENT HELP."},
      {{"CLIENT", "KILL", "1.2.3.4:5"}, "-ERR No such client"},
      {{"INCR", "a"}, "-ERR unknown command 'INCR', with args beginning with: 'a' "},
      {{"ENQUEUE", "q"}, "-ERR wrong number of arguments for 'enqueue' command"},
      {{"ENQUEUE", "q", "x", "WAIT", "5"},
       "-ERR WAIT '5': a duration needs its unit: write 5s or 5ms"},
      {{"ENQUEUE", "q", "x", "COLOUR", "red"}, "-ERR unknown option 'COLOUR' for ENQUEUE"},
      {{"QUEUE", "DROP", "none"}, "-NOTFOUND there is no queue 'none'"},
      {{"QUEUE", "DROP", "q", "r"}, "-ERR wrong number of arguments for 'queue|drop' command"},
      {{"QUEUE", "INFO", "none"}, "-NOTFOUND there is no queue 'none'"},
      {{"QUEUES"}, "[0, []]"},
      {{"RESET"}, "RESET"},
      {{"CLIENT", "GETNAME"}, "(null)"},
  };
  for (const auto& test : cases) EXPECT_EQ(c.Text(test.args), test.reply) << Encode(test.args);
  EXPECT_EQ(c.Call({"TIME"}).items.size(), 2u);
  EXPECT_EQ(c.Text({"QUIT"}), "OK");
  EXPECT_TRUE(c.Ended());
}

TEST_P(ServerCommands, HelpListsTheSubCommandsThatThereAre) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const std::string command : {"CLIENT", "COMMAND", "QUEUE", "SCHEDULE"}) {
    const Value help = c.Call({command, "help"});
    ASSERT_GT(help.items.size(), 8u) << command;
    EXPECT_EQ(help.items[0].text,
              command + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    for (size_t i = 1; i + 1 < help.items.size(); i += 2) {
      const std::string& form = help.items[i].text;
      const std::string sub = form.substr(0, form.find(' '));
      EXPECT_TRUE(help.items[i + 1].text.starts_with("    ")) << form;
      if (sub == "(no") continue;
      EXPECT_FALSE(c.Text({command, sub}).starts_with("-ERR unknown subcommand")) << form;
    }
    EXPECT_EQ(help.items[help.items.size() - 2].text, "HELP");
    std::string lower = command;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char l) { return l | 0x20; });
    EXPECT_EQ(c.Text({command, "HELP", "me"}),
              "-ERR wrong number of arguments for '" + lower + "|help' command");
  }
  // In its place among the answers of what is on its way.
  c.SendRaw(Encode({"ENQUEUE", "q", "x"}) + Encode({"QUEUE", "HELP"}) + Encode({"PING"}));
  EXPECT_FALSE(c.Read().text.empty());
  EXPECT_EQ(c.Read().items.size(), 13u);
  EXPECT_EQ(c.Read().text, "PONG");
}

TEST_P(ServerCommands, InfoIsInRedisForm) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"ENQUEUE", "q", "x"});
  const std::string info = c.Call({"INFO"}).text;
  for (const char* line :
       {"# Server\r\n", "redis_version:7.0.0\r\n", "vestq_version:", "connected_clients:1\r\n",
        "used_memory_rss:", "loading:0\r\n", "total_commands_processed:", "jobs_ready:1\r\n",
        "lease_us_p50:", "lease_us_p99:", "tickets_durable:", "syncs:"}) {
    EXPECT_NE(info.find(line), std::string::npos) << line << "\n" << info;
  }
  const std::string server = c.Call({"INFO", "SERVER"}).text;
  EXPECT_NE(server.find("redis_version"), std::string::npos);
  EXPECT_EQ(server.find("connected_clients"), std::string::npos);
  EXPECT_EQ(c.Call({"INFO", "nonsense"}).text, "");
}

TEST_P(ServerCommands, CommandListsNoKeys) {
  OPEN_OR_SKIP();
  Client c(port());
  const Value all = c.Call({"COMMAND"});
  EXPECT_EQ(all.items.size(), static_cast<size_t>(c.Call({"COMMAND", "COUNT"}).number));
  for (const Value& command : all.items) {
    ASSERT_EQ(command.items.size(), 10u);
    for (size_t i = 3; i < 6; ++i) EXPECT_EQ(command.items[i].number, 0) << command.ToString();
  }
  const Value some = c.Call({"COMMAND", "INFO", "enqueue", "nonsense"});
  ASSERT_EQ(some.items.size(), 2u);
  EXPECT_EQ(some.items[0].items[1].number, -3);
  EXPECT_TRUE(some.items[1].null());
  EXPECT_EQ(c.Call({"COMMAND", "DOCS", "LEASE"}).items[0].text, "lease");
  EXPECT_EQ(c.Call({"COMMAND", "LIST"}).items.size(), all.items.size());
}

TEST_P(ServerCommands, ClientsAreListedAndKilled) {
  OPEN_OR_SKIP();
  Client a(port());
  Client b(port());
  Client d(port());
  EXPECT_EQ(a.Text({"CLIENT", "SETNAME", "alpha"}), "OK");
  EXPECT_EQ(b.Text({"CLIENT", "SETNAME", "beta"}), "OK");
  const int64_t id = d.Call({"CLIENT", "ID"}).number;
  const std::string list = a.Call({"CLIENT", "LIST"}).text;
  EXPECT_NE(list.find("name=alpha"), std::string::npos) << list;
  EXPECT_NE(list.find("name=beta"), std::string::npos) << list;
  const std::string info = b.Call({"CLIENT", "INFO"}).text;
  const size_t at = info.find("addr=") + 5;
  EXPECT_EQ(a.Text({"CLIENT", "KILL", info.substr(at, info.find(' ', at) - at)}), "OK");
  EXPECT_TRUE(b.Ended());
  EXPECT_EQ(a.Text({"CLIENT", "KILL", "ID", std::to_string(id)}), ":1");
  EXPECT_TRUE(d.Ended());
  EXPECT_EQ(a.Text({"CLIENT", "KILL", "ID", std::to_string(id)}), ":0");
  EXPECT_EQ(a.Text({"CLIENT", "KILL", "ID", std::to_string(a.Call({"CLIENT", "ID"}).number),
                    "SKIPME", "no"}),
            ":1");
  EXPECT_TRUE(a.Ended());
}

TEST_P(ServerCommands, RepliesCanBeTurnedOff) {
  OPEN_OR_SKIP();
  Client c(port());
  c.SendRaw(Encode({"CLIENT", "REPLY", "SKIP"}) + Encode({"ENQUEUE", "q", "a"}) +
            Encode({"ECHO", "1"}));
  EXPECT_EQ(c.Read().text, "1");
  c.SendRaw(Encode({"CLIENT", "REPLY", "OFF"}) + Encode({"ENQUEUE", "q", "b"}) + Encode({"PING"}) +
            Encode({"NONSENSE"}) + Encode({"CLIENT", "REPLY", "ON"}) + Encode({"ECHO", "2"}));
  EXPECT_EQ(c.Read().text, "OK");
  EXPECT_EQ(c.Read().text, "2");
  const Value jobs = c.Call({"LEASE", "q", "COUNT", "10"});
  EXPECT_EQ(jobs.items.size(), 2u);
}

TEST_P(ServerCommands, QueuesArePaged) {
  OPEN_OR_SKIP();
  Client c(port());
  constexpr int kQueues = 2500;
  std::string stream;
  for (int i = 0; i < kQueues; ++i) {
    const std::string queue = "q" + std::to_string(i);
    stream += Encode({"ENQUEUE", queue, "x"});
  }
  c.SendRaw(stream);
  for (int i = 0; i < kQueues; ++i) ASSERT_EQ(c.Read().type, '$');
  std::vector<std::string> names;
  std::string cursor = "0";
  int pages = 0;
  do {
    const Value page = c.Call({"QUEUES", "CURSOR", cursor});
    ASSERT_EQ(page.items.size(), 2u);
    cursor = page.items[0].text;
    for (const Value& name : page.items[1].items) names.push_back(name.text);
    ++pages;
  } while (cursor != "0");
  EXPECT_EQ(names.size(), static_cast<size_t>(kQueues));
  EXPECT_EQ(pages, 3);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  const Value info = c.Call({"QUEUE", "INFO", "q7"});
  EXPECT_EQ(info.at("ready").number, 1);
  EXPECT_EQ(info.at("enqueued").number, 1);
}

TEST_P(ServerCommands, ShutdownAsksTheProgram) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"SHUTDOWN"}), "OK");
  EXPECT_EQ(shutdowns_.load(), 1);
}

VESTQ_SERVER_TESTS(ServerCommands);

}  // namespace
}  // namespace vestq::nettest
