// ById: a dense vector whose elements belong to ids, which start at 1: the element of id n is the
// n-th one.
//
// It costs what the vector costs and checks what the vector checks. The one thing it takes away is
// the index by number, so that nobody subtracts the 1 by hand, or takes one id for another's.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "model/ids.h"

namespace dove {

template <class Id, class T>
class ById {
 public:
  using Values = std::vector<T>;
  using value_type = T;
  using reference = typename Values::reference;  // of bools, these are not T&
  using const_reference = typename Values::const_reference;

  ById() = default;
  explicit ById(std::size_t size, const T& value = T()) : values_(size, value) {}

  // REQUIRES: holds(id).
  reference operator[](Id id) { return values_[index(id)]; }
  const_reference operator[](Id id) const { return values_[index(id)]; }
  // Whether the id is one of those from 1 to the last; 0 ("none") is not.
  bool holds(Id id) const { return index(id) < values_.size(); }
  // Grows until it holds `id`; what is there stays.
  void reach(Id id) {
    if (values_.size() < id.value) values_.resize(id.value);
  }

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  auto begin() { return values_.begin(); }
  auto begin() const { return values_.begin(); }
  auto end() { return values_.end(); }
  auto end() const { return values_.end(); }
  reference front() { return values_.front(); }
  const_reference front() const { return values_.front(); }
  reference back() { return values_.back(); }
  const_reference back() const { return values_.back(); }

  // The new element belongs to the id after the last.
  void push_back(T value) { values_.push_back(std::move(value)); }
  template <class... Args>
  reference emplace_back(Args&&... args) {
    return values_.emplace_back(std::forward<Args>(args)...);
  }
  void resize(std::size_t size) { values_.resize(size); }
  void assign(std::size_t size, const T& value) { values_.assign(size, value); }
  void clear() { values_.clear(); }

  // In the order of the ids: for the codec and for sums over all.
  Values& values() { return values_; }
  const Values& values() const { return values_; }

  bool operator==(const ById&) const = default;

 private:
  // For the id 0, the largest number there is.
  static std::size_t index(Id id) { return static_cast<std::size_t>(id.value) - 1; }

  Values values_;
};

}  // namespace dove
