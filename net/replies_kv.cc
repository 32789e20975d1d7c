// Replies to the commands of the application's own data.
#include "engine/kv_request.h"
#include "net/replies.h"

namespace vestq {
namespace {

void WriteValue(const std::optional<std::string>& value, RespWriter* w) {
  if (value) return w->Bulk(*value);
  w->Null();
}

void WriteGet(const DataGetRequest& get, RespWriter* w) {
  switch (get.form) {
    case DataGetRequest::Form::kOne: return WriteValue(get.values[0], w);
    case DataGetRequest::Form::kAll:
      w->Array(get.values.size());
      for (const auto& value : get.values) WriteValue(value, w);
      return;
    case DataGetRequest::Form::kCount: {
      int64_t there = 0;
      for (const auto& value : get.values) there += value.has_value();
      return w->Int(there);
    }
  }
}

void WriteRange(const DataRangeRequest& range, RespWriter* w) {
  w->Array(2);
  w->Bulk(range.more && !range.entries.empty() ? ":" + range.entries.back().first
                                               : std::string("0"));
  w->Array(2 * range.entries.size());
  for (const auto& [key, value] : range.entries) {
    w->Bulk(key);
    w->Bulk(value);
  }
}

}  // namespace

void WriteData(const Request& request, RespWriter* w) {
  switch (request.kind) {
    case RequestKind::kDataSet:
      if (static_cast<const DataSetRequest&>(request).stored) return w->Simple("OK");
      return w->Null();
    case RequestKind::kDataDelete:
      return w->Int(static_cast<int64_t>(static_cast<const DataDeleteRequest&>(request).deleted));
    case RequestKind::kDataGet: return WriteGet(static_cast<const DataGetRequest&>(request), w);
    case RequestKind::kDataRange:
      return WriteRange(static_cast<const DataRangeRequest&>(request), w);
    default: CHECK(false, "a request about data");
  }
}

size_t DataBytes(const Request& request) {
  size_t bytes = 64;
  if (request.kind == RequestKind::kDataGet) {
    for (const auto& value : static_cast<const DataGetRequest&>(request).values)
      bytes += 16 + (value ? value->size() : 0);
  } else if (request.kind == RequestKind::kDataRange) {
    for (const auto& [key, value] : static_cast<const DataRangeRequest&>(request).entries)
      bytes += 32 + key.size() + value.size();
  }
  return bytes;
}

}  // namespace vestq
