// The application's own data, in the family `kv`. Writes run on the key's owner; one with a condition
// looks at what is there first. KV-1: what it sees includes every write of the key that its owner has
// carried out, also those that came while it was looking. Reads run where they were asked, over what
// every core had submitted by then.
#include <algorithm>
#include <iterator>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/kv_request.h"
#include "engine/kv_task.h"

namespace vestq {

CoreId Core::Impl::OwnerOfData(const EngineShared& shared, std::string_view key) {
  return shared.OwnerOf(keycodec::LaneOfSpace({}, key, shared.lanes));
}

// Reads keys of this core, and calls `then` with their values as they stand at that moment.
void Core::Impl::ReadData(std::vector<std::string> keys, bool presence_only,
                          std::function<void(KvGetTask*)> then) {
  auto task = std::make_unique<KvGetTask>();
  task->keys = std::move(keys);
  task->presence_only = presence_only;
  for (const std::string& key : task->keys) ++data_wanted_[key];
  task->mark = data_log_.Begin();
  KvGetTask* const raw = task.get();
  task->finish = [this, raw, then = std::move(then)](ReadTask*) {
    for (size_t i = 0; i < raw->values.size(); ++i) {
      if (const auto* now_there = data_log_.Find(raw->mark, raw->keys[i]))
        raw->values[i] = *now_there;
    }
    data_log_.End(raw->mark);
    for (const std::string& key : raw->keys) {
      if (const auto wanted = data_wanted_.find(key); --wanted->second == 0)
        data_wanted_.erase(wanted);
    }
    then(raw);
  };
  SubmitRead(std::move(task));
}

// What is there now (nullptr: nothing), only of keys that a read under way asks for: values are large.
void Core::Impl::NoteData(const std::string& key, const std::string* value) {
  if (!data_wanted_.contains(key)) return;
  data_log_.Note(key, value == nullptr ? std::nullopt : std::optional(*value));
}

void Core::Impl::PutData(const std::string& key, const std::string& value) {
  batch_.Put(Family::kKv, key, value);
  NoteData(key, &value);
}

void Core::Impl::SetData(DataSetRequest* request) {
  if (request->when == DataSetRequest::When::kAlways) {
    PutData(request->key, request->value);
    request->stored = true;
    return Executed(request);
  }
  ReadData({request->key}, false, [this, request](KvGetTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    const std::optional<std::string>& there = task->values[0];
    request->stored = request->when == DataSetRequest::When::kAbsent
                          ? !there.has_value()
                          : there.has_value() && *there == request->expected;
    if (request->stored) PutData(request->key, request->value);
    Executed(request);
  });
}

// The keys that this core owns; then the request goes on to the owner of the first that is left.
void Core::Impl::DeleteData(DataDeleteRequest* request) {
  const auto mine =
      std::partition(request->keys.begin(), request->keys.end(),
                     [this](const std::string& key) { return OwnerOfData(*shared_, key) != id_; });
  std::vector<std::string> keys(std::make_move_iterator(mine),
                                std::make_move_iterator(request->keys.end()));
  request->keys.erase(mine, request->keys.end());
  std::sort(keys.begin(), keys.end());  // one that is named twice is there once
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  ReadData(std::move(keys), true, [this, request](KvGetTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    for (size_t i = 0; i < task->keys.size(); ++i) {
      if (!task->values[i]) continue;
      batch_.Delete(Family::kKv, task->keys[i]);
      NoteData(task->keys[i], nullptr);
      ++request->deleted;
    }
    if (request->keys.empty()) return Executed(request);
    Forward(request, OwnerOfData(*shared_, request->keys.front()));
  });
}

// A read of all cores' data: it sees, and the answer rests on, all that was submitted by then.
void Core::Impl::GetData(DataGetRequest* request) {
  auto task = std::make_unique<KvGetTask>();
  task->keys = request->keys;
  task->presence_only = request->form == DataGetRequest::Form::kCount;
  task->after = shared_->writes->submitted();
  KvGetTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    request->values = std::move(raw->values);
    Executed(request);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::RangeData(DataRangeRequest* request) {
  auto task = std::make_unique<KvRangeTask>();
  task->prefix = request->prefix;
  task->from_after = request->after;
  task->count = request->count;
  task->after = shared_->writes->submitted();
  KvRangeTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    request->entries = std::move(raw->entries);
    request->more = raw->more;
    Executed(request);
  };
  SubmitRead(std::move(task));
}

}  // namespace vestq
