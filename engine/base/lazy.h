// A T that most owners never use: made when it is first asked for other than to be read. Until then it takes
// a pointer's room, and reading shows an empty one. Not copied; moved with what it has.
#pragma once

#include <memory>

namespace vestq {

template <typename T>
class Lazy {
 public:
  bool made() const { return value_ != nullptr; }
  bool empty() const { return value_ == nullptr || value_->empty(); }  // of a container

  const T& operator*() const { return value_ != nullptr ? *value_ : None(); }
  const T* operator->() const { return &**this; }
  T& operator*() {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    return *value_;
  }
  T* operator->() { return &**this; }
  void reset() { value_.reset(); }

 private:
  static const T& None() {
    static const T none{};
    return none;
  }

  std::unique_ptr<T> value_;
};

}  // namespace vestq
