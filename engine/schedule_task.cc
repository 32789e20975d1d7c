#include "engine/schedule_task.h"

#include "engine/store.h"
#include "keycodec/keys.h"

namespace vestq {
namespace {

// What a page says beside payloads: with many headers it has fewer entries.
constexpr size_t kListBytes = size_t{1} << 20;

Error NamesIt(const std::string& name, const Error& error) {
  return Error(error.code(), "schedule " + name + ": " + error.text());
}

}  // namespace

Error ScheduleTask::Run(const Store& store) {
  std::string bytes;
  const Error got = store.Get(Family::kRows, keycodec::ScheduleKey(name), &bytes);
  if (got.code() == ErrorCode::kNotFound) return Error::Ok();
  if (!got.ok()) return got;
  Result<keycodec::ScheduleValue> decoded = keycodec::DecodeScheduleValue(bytes);
  if (!decoded.ok()) return NamesIt(name, decoded.error());
  schedule = std::move(*decoded);
  return Error::Ok();
}

Error ScheduleListTask::Run(const Store& store) {
  const std::string prefix = "h";
  std::string start = prefix;
  if (!after_name.empty()) {
    start = keycodec::ScheduleKey(after_name);
    start.push_back('\0');  // exclusive
  }
  size_t bytes = 0;
  const auto it = store.NewIterator(Family::kRows, start, keycodec::PrefixSuccessor(prefix));
  for (it->Seek(start); it->Valid(); it->Next()) {
    if (schedules.size() == count || bytes > kListBytes) {
      more = true;
      return Error::Ok();
    }
    Result<std::string> name = keycodec::DecodeScheduleKey(it->key());
    if (!name.ok()) return name.error();
    Result<keycodec::ScheduleValue> value = keycodec::DecodeScheduleValue(it->value());
    if (!value.ok()) return NamesIt(*name, value.error());
    ScheduleInfo& info = schedules.emplace_back();
    info.name = std::move(*name);
    info.value = std::move(*value);
    info.payload_bytes = info.value.payload.size();
    info.value.payload = std::string();
    bytes += it->value().size() - info.payload_bytes;
  }
  return it->error();
}

}  // namespace vestq
