// OrderedSet: a std::set for small values, which lie side by side in blocks of a kibibyte.
//
// Taking the first, appending a last or moving a value touches one or two blocks and rarely
// allocates memory. Iteration follows memory. Any change may invalidate iterators and references.
// It replaces absl's B-tree because moving an entry is the brain's most frequent operation: 1.4 to
// 7 times as fast, measured in docs/decisions/0040.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace dove::core {

template <class T>
class OrderedSet {
  struct Part;

 public:
  using value_type = T;
  using key_type = T;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    reference operator*() const { return *value_; }
    pointer operator->() const { return value_; }
    Iterator& operator++() {
      if (++value_ == part_->block->end()) *this = Iterator(part_ + 1, last_);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return value_ == other.value_; }

   private:
    friend class OrderedSet;
    // At the first value of `part`.
    Iterator(const Part* part, const Part* last) : part_(part), last_(last) {
      if (part != last) value_ = part->block->begin();
    }
    Iterator(const Part* part, const Part* last, const T* value)
        : part_(part), last_(last), value_(value) {}

    const Part* part_ = nullptr;
    const Part* last_ = nullptr;
    const T* value_ = nullptr;  // null: the end
  };
  using iterator = Iterator;
  using const_iterator = Iterator;

  OrderedSet() = default;
  template <class It>
  OrderedSet(It from, It to) {
    insert(from, to);
  }
  OrderedSet(std::initializer_list<T> values) : OrderedSet(values.begin(), values.end()) {}
  OrderedSet(OrderedSet&& other) noexcept
      : parts_(std::move(other.parts_)), size_(std::exchange(other.size_, 0)) {}
  OrderedSet& operator=(OrderedSet&& other) noexcept {
    parts_ = std::move(other.parts_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  OrderedSet(const OrderedSet& other) : size_(other.size_) {
    parts_.reserve(other.parts_.size());
    for (const Part& part : other.parts_) {
      parts_.push_back({part.from, std::make_unique<Block>(*part.block)});
    }
  }
  OrderedSet& operator=(const OrderedSet& other) {
    if (this != &other) *this = OrderedSet(other);
    return *this;
  }

  bool operator==(const OrderedSet& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Iterator begin() const { return empty() ? end() : Iterator(first_part(), last_part()); }
  Iterator end() const { return {}; }

  // The first that is not below `value`.
  Iterator lower_bound(const T& value) const {
    if (empty()) return end();
    const Part* part = first_part() + part_for(value);
    const T* at = part->block->lower_bound(value);
    if (at == part->block->end()) return Iterator(part + 1, last_part());
    return Iterator(part, last_part(), at);
  }
  // The first that is above `value`.
  Iterator upper_bound(const T& value) const {
    Iterator at = lower_bound(value);
    if (at != end() && !(value < *at)) ++at;
    return at;
  }
  Iterator find(const T& value) const {
    const Iterator at = lower_bound(value);
    return at == end() || value < *at ? end() : at;
  }
  bool contains(const T& value) const { return find(value) != end(); }

  // Whether it was not there.
  bool insert(const T& value) {
    if (parts_.empty()) parts_.push_back({value, std::make_unique<Block>()});
    std::size_t part = part_for(value);
    T* at = block(part).lower_bound(value);
    if (at != block(part).end() && !(value < *at)) return false;
    ++size_;
    const bool comes_last = part + 1 == parts_.size() && at == block(part).end();
    if (comes_last && block(part).is_at_end() && block(part).size() >= kMost / 2) {
      // A value that comes last will be followed by others: what is before stays full.
      parts_.push_back({value, std::make_unique<Block>()});
      ++part;
      at = block(part).end();
    } else if (block(part).size() == kMost) {
      split(part);
      if (!(value < parts_[part + 1].from)) ++part;
      at = block(part).lower_bound(value);
    }
    block(part).insert(at, value);
    return true;
  }
  template <class It>
  void insert(It from, It to) {
    for (; from != to; ++from) {
      if (!append(*from)) insert(*from);
    }
  }

  // How many were there.
  std::size_t erase(const T& value) {
    if (empty()) return 0;
    const std::size_t part = part_for(value);
    T* at = block(part).lower_bound(value);
    if (at == block(part).end() || value < *at) return 0;
    --size_;
    block(part).erase(at);
    join_next(part);
    return 1;
  }
  void clear() { *this = OrderedSet(); }

 private:
  static constexpr std::size_t kMost = std::max<std::size_t>(1024 / sizeof(T), 8);

  // Values begin anywhere in it, so that the first can go without the others moving.
  struct Block {
    std::size_t first = 0;
    std::size_t after = 0;
    std::array<T, kMost> values;

    T* begin() { return values.data() + first; }
    T* end() { return values.data() + after; }
    const T* begin() const { return values.data() + first; }
    const T* end() const { return values.data() + after; }
    std::size_t size() const { return after - first; }
    bool is_at_end() const { return after == kMost; }
    T* lower_bound(const T& value) { return std::lower_bound(begin(), end(), value); }
    const T* lower_bound(const T& value) const { return std::lower_bound(begin(), end(), value); }

    // REQUIRES: there is room.
    void insert(T* at, const T& value) {
      if (first == 0 || (after < kMost && end() - at <= at - begin())) {
        std::move_backward(at, end(), end() + 1);
        ++after;
        *at = value;
      } else {
        std::move(begin(), at, begin() - 1);
        --first;
        *(at - 1) = value;
      }
    }
    void erase(T* at) {
      if (at - begin() < end() - at) {
        std::move_backward(begin(), at, at + 1);
        ++first;
      } else {
        std::move(at + 1, end(), at);
        --after;
      }
      if (first == after) first = after = 0;
    }
    // REQUIRES: there is room for all of `next`, which come after these.
    void append(const Block& next) {
      after = static_cast<std::size_t>(std::move(begin(), end(), values.data()) - values.data());
      first = 0;
      after = static_cast<std::size_t>(std::copy(next.begin(), next.end(), end()) - values.data());
    }
  };

  // Holds the values from `from` to the next part's: the first part has all below too.
  struct Part {
    T from;
    std::unique_ptr<Block> block;
  };

  // Puts a value that comes after all others there without a search, as what is made of a sorted
  // list is all such values. False: insert() has to.
  bool append(const T& value) {
    if (empty() || !(*(block(parts_.size() - 1).end() - 1) < value)) return false;
    if (block(parts_.size() - 1).is_at_end()) {
      if (block(parts_.size() - 1).size() < kMost / 2) return false;
      parts_.push_back({value, std::make_unique<Block>()});
    }
    Block& last = block(parts_.size() - 1);
    last.values[last.after++] = value;
    ++size_;
    return true;
  }

  Block& block(std::size_t part) { return *parts_[part].block; }
  const Part* first_part() const { return parts_.data(); }
  const Part* last_part() const { return parts_.data() + parts_.size(); }

  // Where the value is, or belongs. REQUIRES: there is a part.
  std::size_t part_for(const T& value) const {
    const auto next =
        std::upper_bound(parts_.begin() + 1, parts_.end(), value,
                         [](const T& wanted, const Part& part) { return wanted < part.from; });
    return static_cast<std::size_t>(next - parts_.begin()) - 1;
  }
  // The upper half becomes a part of its own. REQUIRES: the part is full.
  void split(std::size_t part) {
    auto upper = std::make_unique<Block>();
    Block& lower = block(part);
    T* const middle = lower.begin() + kMost / 2;
    upper->after = static_cast<std::size_t>(std::move(middle, lower.end(), upper->end()) -
                                            upper->values.data());
    lower.after -= upper->size();
    const T from = *upper->begin();
    parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(part) + 1, {from, std::move(upper)});
  }
  // No block but the only one is empty, and neighbours that are nearly so become one.
  void join_next(std::size_t part) {
    if (parts_.size() == 1 || block(part).size() > kMost / 4) return;
    const auto at = parts_.begin() + static_cast<std::ptrdiff_t>(part);
    if (block(part).size() == 0) {
      parts_.erase(at);
    } else if (part + 1 < parts_.size() &&
               block(part).size() + block(part + 1).size() <= kMost / 2) {
      block(part).append(block(part + 1));
      parts_.erase(at + 1);
    }
  }

  std::vector<Part> parts_;  // ascending
  std::size_t size_ = 0;
};

}  // namespace dove::core
