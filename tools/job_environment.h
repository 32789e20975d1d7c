// What a command of `vestq work` is told of its job beside the payload: environment variables. Pure.
#pragma once

#include <hiredis/hiredis.h>

#include <string>
#include <string_view>
#include <vector>

namespace vestq {

// "NAME=value" for a job as LEASE gives it; `server` is where it came from. VESTQ_TYPE,
// VESTQ_CHECKPOINT and VESTQ_HEADER_<NAME> only where the job has them. The name of a header is in
// upper case, with _ for what is no ASCII letter or digit; of those that come out the same the last
// one stands. A value with a zero byte, which no environment can hold, is left out.
[[nodiscard]] std::vector<std::string> JobEnvironment(const redisReply& job,
                                                      std::string_view server);

}  // namespace vestq
