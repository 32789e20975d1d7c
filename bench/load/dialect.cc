#include "bench/load/dialect.h"

#include <charconv>

#include "bench/load/resp.h"

namespace vestq::bench {
namespace {

Answer Wrong(std::string_view what) {
  Answer answer;
  answer.kind = Answer::Kind::kWrong;
  answer.error = what.substr(0, 200);
  return answer;
}

Answer Unread(RespReader::Step step, std::string_view bytes) {
  return step == RespReader::Step::kIncomplete ? Answer{} : Wrong(bytes);
}

Answer Done(Answer::Kind kind, size_t consumed) {
  Answer answer;
  answer.kind = kind;
  answer.consumed = consumed;
  return answer;
}

bool IsArray(const RespItem& item) { return item.type == '*' && item.number >= 0; }

// vestq over RESP: ENQUEUE, LEASE, COMPLETE (net/PROTOCOL.md). A leased job is a map, which RESP2
// sends as a flat array.
class VestqDialect : public Dialect {
 public:
  explicit VestqDialect(std::string_view queue) : queue_(queue) {}

  void AppendGreeting(std::string* out, std::string* answer) const override {
    AppendRespCommand({"PING"}, out);
    *answer = "+PONG\r\n";
  }
  bool AppendPut(std::string_view payload, uint32_t delay_s, std::string* out) const override {
    if (delay_s == 0) {
      AppendRespCommand({"ENQUEUE", queue_, payload}, out);
    } else {
      AppendRespCommand({"ENQUEUE", queue_, payload, "DELAY", std::to_string(delay_s) + "s"}, out);
    }
    return true;
  }
  void AppendTake(size_t, std::string* out) const override {
    AppendRespCommand({"LEASE", queue_}, out);
  }
  void AppendTryTake(size_t connection, std::string* out) const override {
    AppendTake(connection, out);
  }
  bool AppendWait(size_t, std::string* out) const override {
    AppendRespCommand({"LEASE", queue_, "BLOCK", "0"}, out);
    return true;
  }
  void AppendComplete(size_t, std::string_view receipt, std::string* out) const override {
    AppendRespCommand({"COMPLETE", receipt}, out);
  }

  Answer Parse(Op op, std::string_view bytes) const override {
    RespReader reader(bytes);
    RespItem item;
    const RespReader::Step step = reader.Next(&item);
    if (step != RespReader::Step::kItem) return Unread(step, bytes);
    switch (op) {
      case Op::kPut:
        if (item.type != '$' || item.text.empty()) return Wrong(bytes);
        return Done(Answer::Kind::kOk, reader.consumed());
      case Op::kTake:
        if (item.type != '-' && item.IsNull()) return Done(Answer::Kind::kEmpty, reader.consumed());
        if (!IsArray(item) || item.number != 1) return Wrong(bytes);
        return ParseJob(&reader, bytes);
      case Op::kComplete:
        if (item.type != '+' || item.text != "OK") return Wrong(bytes);
        return Done(Answer::Kind::kOk, reader.consumed());
    }
    return Wrong(bytes);
  }

 private:
  static Answer ParseJob(RespReader* reader, std::string_view bytes) {
    RespItem item;
    RespReader::Step step = reader->Next(&item);
    if (step != RespReader::Step::kItem) return Unread(step, bytes);
    const bool map = item.type == '%' && item.number >= 0;
    if (!map && (!IsArray(item) || item.number % 2 != 0)) return Wrong(bytes);
    Answer answer = Done(Answer::Kind::kOk, 0);
    for (int64_t left = map ? item.number : item.number / 2; left > 0; --left) {
      RespItem field;
      if ((step = reader->Next(&field)) != RespReader::Step::kItem) return Unread(step, bytes);
      if (field.text == "receipt" || field.text == "payload") {
        if ((step = reader->Next(&item)) != RespReader::Step::kItem) return Unread(step, bytes);
        if (item.type != '$' || item.IsNull()) return Wrong(bytes);
        (field.text == "receipt" ? answer.receipt : answer.payload) = item.text;
      } else if ((step = reader->Skip()) != RespReader::Step::kItem) {
        return Unread(step, bytes);
      }
    }
    if (answer.receipt.empty()) return Wrong(bytes);
    answer.consumed = reader->consumed();
    return answer;
  }

  std::string queue_;
};

// The reliable queue of Redis's documentation: LMOVE to a list of the worker's own, LREM when done.
// The receipt is the payload itself. Each connection has its own list, so that LREM looks at no
// more jobs than that worker holds.
class ListsDialect : public Dialect {
 public:
  explicit ListsDialect(std::string_view queue) : queue_(queue) {}

  void AppendGreeting(std::string* out, std::string* answer) const override {
    AppendRespCommand({"PING"}, out);
    *answer = "+PONG\r\n";
  }
  bool AppendPut(std::string_view payload, uint32_t delay_s, std::string* out) const override {
    if (delay_s != 0) return false;
    AppendRespCommand({"LPUSH", queue_, payload}, out);
    return true;
  }
  void AppendTake(size_t connection, std::string* out) const override {
    AppendRespCommand({"LMOVE", queue_, Held(connection), "RIGHT", "LEFT"}, out);
  }
  void AppendTryTake(size_t connection, std::string* out) const override {
    AppendTake(connection, out);
  }
  bool AppendWait(size_t connection, std::string* out) const override {
    AppendRespCommand({"BLMOVE", queue_, Held(connection), "RIGHT", "LEFT", "0"}, out);
    return true;
  }
  void AppendComplete(size_t connection, std::string_view receipt,
                      std::string* out) const override {
    AppendRespCommand({"LREM", Held(connection), "-1", receipt}, out);
  }

  Answer Parse(Op op, std::string_view bytes) const override {
    RespReader reader(bytes);
    RespItem item;
    const RespReader::Step step = reader.Next(&item);
    if (step != RespReader::Step::kItem) return Unread(step, bytes);
    Answer answer = Done(Answer::Kind::kOk, reader.consumed());
    switch (op) {
      case Op::kPut: return item.type == ':' && item.number >= 1 ? answer : Wrong(bytes);
      case Op::kTake:
        if (item.type != '$') return Wrong(bytes);
        if (item.IsNull()) return Done(Answer::Kind::kEmpty, reader.consumed());
        answer.payload = answer.receipt = item.text;
        return answer;
      case Op::kComplete: return item.type == ':' && item.number == 1 ? answer : Wrong(bytes);
    }
    return Wrong(bytes);
  }

 private:
  std::string Held(size_t connection) const {
    return queue_ + ":held:" + std::to_string(connection);
  }
  std::string queue_;
};

// A stream and one consumer group: XADD, XREADGROUP COUNT 1, and XACK + XDEL to complete (without
// XDEL the stream would grow for ever).
class StreamsDialect : public Dialect {
 public:
  explicit StreamsDialect(std::string_view queue) : queue_(queue) {}

  std::vector<std::string> Preparation() const override {
    std::string create;
    AppendRespCommand({"XGROUP", "CREATE", queue_, "workers", "0", "MKSTREAM"}, &create);
    return {create};
  }
  void AppendGreeting(std::string* out, std::string* answer) const override {
    AppendRespCommand({"PING"}, out);
    *answer = "+PONG\r\n";
  }
  bool AppendPut(std::string_view payload, uint32_t delay_s, std::string* out) const override {
    if (delay_s != 0) return false;
    AppendRespCommand({"XADD", queue_, "*", "p", payload}, out);
    return true;
  }
  void AppendTake(size_t connection, std::string* out) const override {
    AppendRespCommand({"XREADGROUP", "GROUP", "workers", std::to_string(connection), "COUNT", "1",
                       "STREAMS", queue_, ">"},
                      out);
  }
  void AppendTryTake(size_t connection, std::string* out) const override {
    AppendTake(connection, out);
  }
  bool AppendWait(size_t connection, std::string* out) const override {
    AppendRespCommand({"XREADGROUP", "GROUP", "workers", std::to_string(connection), "COUNT", "1",
                       "BLOCK", "0", "STREAMS", queue_, ">"},
                      out);
    return true;
  }
  void AppendComplete(size_t, std::string_view receipt, std::string* out) const override {
    AppendRespCommand({"XACK", queue_, "workers", receipt}, out);
    AppendRespCommand({"XDEL", queue_, receipt}, out);
  }

  Answer Parse(Op op, std::string_view bytes) const override {
    RespReader reader(bytes);
    RespItem item;
    RespReader::Step step = reader.Next(&item);
    if (step != RespReader::Step::kItem) return Unread(step, bytes);
    switch (op) {
      case Op::kPut:
        if (item.type != '$' || item.IsNull()) return Wrong(bytes);
        return Done(Answer::Kind::kOk, reader.consumed());
      case Op::kTake:
        if (item.type != '-' && item.IsNull()) return Done(Answer::Kind::kEmpty, reader.consumed());
        return ParseEntry(item, &reader, bytes);
      case Op::kComplete:
        if (item.type != ':' || item.number != 1) return Wrong(bytes);
        step = reader.Next(&item);
        if (step != RespReader::Step::kItem) return Unread(step, bytes);
        if (item.type != ':' || item.number != 1) return Wrong(bytes);
        return Done(Answer::Kind::kOk, reader.consumed());
    }
    return Wrong(bytes);
  }

 private:
  // [[stream, [[id, [field, value]]]]]
  static Answer ParseEntry(RespItem head, RespReader* reader, std::string_view bytes) {
    if (!IsArray(head) || head.number != 1) return Wrong(bytes);
    Answer answer = Done(Answer::Kind::kOk, 0);
    RespItem items[8];
    constexpr std::string_view kTypes = "*$**$*$$";
    for (size_t i = 0; i < kTypes.size(); ++i) {
      const RespReader::Step step = reader->Next(&items[i]);
      if (step != RespReader::Step::kItem) return Unread(step, bytes);
      if (items[i].type != kTypes[i] || items[i].IsNull()) return Wrong(bytes);
    }
    answer.receipt = items[4].text;
    answer.payload = items[7].text;
    answer.consumed = reader->consumed();
    return answer;
  }
  std::string queue_;
};

class BeanstalkDialect : public Dialect {
 public:
  explicit BeanstalkDialect(std::string_view queue) : queue_(queue) {}

  void AppendGreeting(std::string* out, std::string* answer) const override {
    out->append("use ").append(queue_).append("\r\nwatch ").append(queue_).append("\r\n");
    *answer = "USING " + queue_ + "\r\nWATCHING 2\r\n";
  }
  bool AppendPut(std::string_view payload, uint32_t delay_s, std::string* out) const override {
    char head[64];
    char* at = head;
    at = Append(at, "put 1024 ");
    at = std::to_chars(at, head + sizeof(head), delay_s).ptr;
    at = Append(at, " 30 ");
    at = std::to_chars(at, head + sizeof(head), payload.size()).ptr;
    at = Append(at, "\r\n");
    out->append(head, static_cast<size_t>(at - head)).append(payload).append("\r\n");
    return true;
  }
  void AppendTake(size_t, std::string* out) const override { out->append("reserve\r\n"); }
  void AppendTryTake(size_t, std::string* out) const override {
    out->append("reserve-with-timeout 0\r\n");
  }
  bool AppendWait(size_t connection, std::string* out) const override {
    AppendTake(connection, out);
    return true;
  }
  void AppendComplete(size_t, std::string_view receipt, std::string* out) const override {
    out->append("delete ").append(receipt).append("\r\n");
  }

  Answer Parse(Op op, std::string_view bytes) const override {
    const size_t end = bytes.find("\r\n");
    if (end == std::string_view::npos) return Answer{};
    const std::string_view line = bytes.substr(0, end);
    switch (op) {
      case Op::kPut:
        return line.starts_with("INSERTED ") ? Done(Answer::Kind::kOk, end + 2) : Wrong(line);
      case Op::kTake:
        if (line == "TIMED_OUT") return Done(Answer::Kind::kEmpty, end + 2);
        return ParseReserved(line, bytes);
      case Op::kComplete: return line == "DELETED" ? Done(Answer::Kind::kOk, end + 2) : Wrong(line);
    }
    return Wrong(line);
  }

 private:
  static char* Append(char* at, std::string_view text) { return at + text.copy(at, text.size()); }
  // RESERVED <id> <bytes>\r\n<data>\r\n
  static Answer ParseReserved(std::string_view line, std::string_view bytes) {
    constexpr std::string_view kHead = "RESERVED ";
    const size_t space = line.rfind(' ');
    if (!line.starts_with(kHead) || space < kHead.size()) return Wrong(line);
    size_t length = 0;
    const auto [end, error] =
        std::from_chars(line.data() + space + 1, line.data() + line.size(), length);
    if (error != std::errc() || end != line.data() + line.size()) return Wrong(line);
    const size_t total = line.size() + 2 + length + 2;
    if (bytes.size() < total) return Answer{};
    Answer answer = Done(Answer::Kind::kOk, total);
    answer.receipt = line.substr(kHead.size(), space - kHead.size());
    answer.payload = bytes.substr(line.size() + 2, length);
    return answer;
  }
  std::string queue_;
};

}  // namespace

std::unique_ptr<Dialect> MakeDialect(std::string_view name, std::string_view queue) {
  if (name == "vestq") return std::make_unique<VestqDialect>(queue);
  if (name == "redis-lists") return std::make_unique<ListsDialect>(queue);
  if (name == "redis-streams") return std::make_unique<StreamsDialect>(queue);
  if (name == "beanstalkd") return std::make_unique<BeanstalkDialect>(queue);
  return nullptr;
}

}  // namespace vestq::bench
