#include "tools/job_environment.h"

#include <map>
#include <utility>

#include "tools/client.h"

namespace vestq {
namespace {

std::string HeaderVariable(std::string_view name) {
  std::string out = "VESTQ_HEADER_";
  for (const char c : name) {
    if (c >= 'a' && c <= 'z') {
      out.push_back(static_cast<char>(c - 'a' + 'A'));
    } else {
      out.push_back((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_');
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> JobEnvironment(const redisReply& job, std::string_view server) {
  std::vector<std::string> out;
  const auto put = [&out](std::string_view variable, const std::string& value) {
    if (value.find('\0') == std::string::npos) out.push_back(std::string(variable) + "=" + value);
  };
  const auto field = [&job](std::string_view name) {
    const redisReply* const value = FindInMap(job, name);
    return value == nullptr ? std::string() : ReplyText(*value);
  };
  put("VESTQ_SERVER", std::string(server));
  for (const auto& [variable, name] :
       {std::pair("VESTQ_ID", "id"), std::pair("VESTQ_QUEUE", "queue"),
        std::pair("VESTQ_SPACE", "space"), std::pair("VESTQ_ATTEMPT", "attempt"),
        std::pair("VESTQ_ATTEMPTS", "attempts"), std::pair("VESTQ_RECEIPT", "receipt"),
        std::pair("VESTQ_PRIORITY", "priority")}) {
    put(variable, field(name));
  }
  for (const auto& [variable, name] :
       {std::pair("VESTQ_TYPE", "type"), std::pair("VESTQ_CHECKPOINT", "checkpoint")}) {
    if (const std::string value = field(name); !value.empty()) put(variable, value);
  }
  const redisReply* const headers = FindInMap(job, "headers");
  std::map<std::string, std::string> variables;
  for (size_t i = 0; headers != nullptr && i + 1 < headers->elements; i += 2) {
    variables[HeaderVariable(ReplyText(*headers->element[i]))] =
        ReplyText(*headers->element[i + 1]);
  }
  for (const auto& [variable, value] : variables) put(variable, value);
  return out;
}

}  // namespace vestq
