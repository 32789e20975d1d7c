// How one kind of server is asked to put, take and complete a job, and how its answers read. A
// dialect keeps no state between calls but its queue's names; one instance serves all connections
// of the one thread. All calls only append to or look at memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vestq::bench {

enum class Op : uint8_t { kPut = 0, kTake = 1, kComplete = 2 };
inline constexpr size_t kOps = 3;
inline constexpr const char* kOpNames[kOps] = {"put", "take", "complete"};

struct Answer {
  enum class Kind { kOk, kEmpty, kIncomplete, kWrong };
  Kind kind = Kind::kIncomplete;
  size_t consumed = 0;       // bytes of the whole answer, for kOk and kEmpty
  std::string_view payload;  // kTake: into the parsed bytes
  std::string_view receipt;  // kTake: what AppendComplete wants; into the parsed bytes
  std::string_view error;    // kWrong: what the server said, as far as it was understood
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  // Requests that have to be answered (by anything but an error) before the first job; none by
  // default. The answer is one RESP value each.
  virtual std::vector<std::string> Preparation() const { return {}; }
  // What a new connection must say before its first request, with the exact answer in *answer.
  virtual void AppendGreeting(std::string* out, std::string* answer) const = 0;
  // `delay_s` 0: ready at once. False when this server has no delayed jobs.
  [[nodiscard]] virtual bool AppendPut(std::string_view payload, uint32_t delay_s,
                                       std::string* out) const = 0;
  virtual void AppendTake(size_t connection, std::string* out) const = 0;
  // A take that answers kEmpty at once when nothing is ready.
  virtual void AppendTryTake(size_t connection, std::string* out) const = 0;
  // A take that waits for ever. False when this server cannot.
  [[nodiscard]] virtual bool AppendWait(size_t connection, std::string* out) const = 0;
  virtual void AppendComplete(size_t connection, std::string_view receipt,
                              std::string* out) const = 0;
  // Reads one answer to `op` from the start of `bytes`.
  virtual Answer Parse(Op op, std::string_view bytes) const = 0;
};

// `name`: vestq, redis-lists, redis-streams, beanstalkd. Null for another.
std::unique_ptr<Dialect> MakeDialect(std::string_view name, std::string_view queue);

}  // namespace vestq::bench
