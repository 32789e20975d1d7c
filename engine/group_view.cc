#include "engine/group_view.h"

#include <utility>

namespace vestq {

void GroupView::CatchUp() const {
  seen_ = changes_->Visit(seen_, [this](const Batch::Record& record) {
    changed_[static_cast<size_t>(record.family)].insert_or_assign(
        std::string(record.key), Change{record.put, record.value_at, record.value_bytes});
  });
}

Error GroupView::Get(Family family, std::string_view key, std::string* value) const {
  CatchUp();
  const auto place = static_cast<size_t>(family);
  if (const auto it = changed_[place].find(key); it != changed_[place].end()) {
    if (!it->second.there) return Error(ErrorCode::kNotFound, "");
    value->assign(changes_->Bytes(it->second.at, it->second.bytes));
    return Error::Ok();
  }
  if (const auto it = kept_[place].find(key); it != kept_[place].end()) {
    if (!it->second) return Error(ErrorCode::kNotFound, "");
    *value = *it->second;
    return Error::Ok();
  }
  const Error error = base_->Get(family, key, value);
  if (!error.ok() && error.code() != ErrorCode::kNotFound) return error;
  const size_t bytes = key.size() + (error.ok() ? value->size() : 0);
  if (kept_bytes_ + bytes <= kKeptBytes) {
    kept_bytes_ += bytes;
    kept_[place].emplace(std::string(key), error.ok() ? std::optional(*value) : std::nullopt);
  }
  return error;
}

Error GroupView::MultiGet(Family family, const std::vector<std::string>& keys,
                          std::vector<std::string>* values, std::vector<bool>* found) const {
  values->assign(keys.size(), std::string());
  found->assign(keys.size(), false);
  for (size_t i = 0; i < keys.size(); ++i) {
    const Error error = Get(family, keys[i], &(*values)[i]);
    if (!error.ok() && error.code() != ErrorCode::kNotFound) return error;
    (*found)[i] = error.ok();
  }
  return Error::Ok();
}

// Two ordered sources as one: a key that was changed hides the store's.
class GroupView::Iterator final : public StoreIterator {
 public:
  Iterator(std::unique_ptr<StoreIterator> base, const Changes* changed, const Batch* batch,
           std::string_view lower, std::string_view upper)
      : base_(std::move(base)), changed_(changed), batch_(batch), lower_(lower), upper_(upper) {
    change_ = changed_->end();
  }

  bool Valid() const override { return base_->error().ok() && (base_->Valid() || OfChange()); }
  void Seek(std::string_view key) override {
    const std::string_view from = std::max<std::string_view>(key, lower_);
    base_->Seek(from);
    change_ = changed_->lower_bound(from);
    Settle();
  }
  void Next() override {
    if (at_change_) {
      ++change_;
    } else {
      base_->Next();
    }
    Settle();
  }
  std::string_view key() const override { return at_change_ ? change_->first : base_->key(); }
  std::string_view value() const override {
    return at_change_ ? batch_->Bytes(change_->second.at, change_->second.bytes) : base_->value();
  }
  Error error() const override { return base_->error(); }

 private:
  bool OfChange() const {
    return change_ != changed_->end() && (upper_.empty() || change_->first < upper_);
  }
  // Steps to the next key that is there, and says which source has it.
  void Settle() {
    for (;;) {
      at_change_ = OfChange() && (!base_->Valid() || change_->first <= base_->key());
      if (!at_change_) return;
      if (base_->Valid() && base_->key() == change_->first) base_->Next();
      if (change_->second.there) return;
      ++change_;
    }
  }

  const std::unique_ptr<StoreIterator> base_;
  const Changes* const changed_;
  const Batch* const batch_;
  const std::string lower_;
  const std::string upper_;
  Changes::const_iterator change_;
  bool at_change_ = false;
};

std::unique_ptr<StoreIterator> GroupView::NewIterator(Family family, std::string_view lower,
                                                      std::string_view upper) const {
  CatchUp();
  return std::make_unique<Iterator>(base_->NewIterator(family, lower, upper),
                                    &changed_[static_cast<size_t>(family)], changes_, lower, upper);
}

}  // namespace vestq
