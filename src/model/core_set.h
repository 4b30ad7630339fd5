// CoreSet: processor cores of one node by id, as a set of bits.
//
// Ids below 256 lie in the object itself, so that most sets take no memory of their own; whatever
// the ids, goes in ascending order. A value like any other: copied, compared, one thread at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace dove {

class CoreSet {
 public:
  // Ids are from 0 to below this, more than any kernel can have.
  static constexpr std::int32_t kEnd = 65536;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::int32_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::int32_t*;
    using reference = std::int32_t;

    Iterator() = default;
    Iterator(const CoreSet* set, std::size_t word) : set_(set), word_(word) { settle(); }
    std::int32_t operator*() const {
      return static_cast<std::int32_t>(word_ * kBits) + std::countr_zero(left_);
    }
    Iterator& operator++() {
      left_ &= left_ - 1;
      if (left_ == 0) {
        ++word_;
        settle();
      }
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const {
      return word_ == other.word_ && left_ == other.left_;
    }

   private:
    void settle() {
      for (left_ = 0; word_ < set_->words(); ++word_) {
        left_ = set_->word(word_);
        if (left_ != 0) return;
      }
    }

    const CoreSet* set_ = nullptr;
    std::size_t word_ = 0;
    std::uint64_t left_ = 0;  // of the word, those that are still to come
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = std::int32_t;

  CoreSet() = default;
  CoreSet(std::initializer_list<std::int32_t> ids) {
    for (const std::int32_t id : ids) insert(id);
  }
  explicit CoreSet(const std::vector<std::int32_t>& ids) {
    for (const std::int32_t id : ids) insert(id);
  }

  bool operator==(const CoreSet&) const = default;
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, words()}; }
  std::vector<std::int32_t> ids() const {
    std::vector<std::int32_t> list;
    list.reserve(size());
    for (const std::int32_t id : *this) list.push_back(id);
    return list;
  }

  // REQUIRES: 0 <= id < kEnd.
  void insert(std::int32_t id) {
    if (contains(id)) return;
    const std::size_t at = static_cast<std::size_t>(id) / kBits;
    if (at >= words()) high_.resize(at - kLow + 1);
    (at < kLow ? low_[at] : high_[at - kLow]) |= bit(id);
    ++count_;
  }
  bool contains(std::int32_t id) const {
    return id >= 0 && (word(static_cast<std::size_t>(id) / kBits) & bit(id)) != 0;
  }
  bool contains(const CoreSet& other) const { return other.size_with(*this) == other.size(); }
  void clear() { *this = CoreSet(); }

  CoreSet& operator|=(const CoreSet& other) {
    if (other.empty()) return *this;
    return change(other, [](std::uint64_t mine, std::uint64_t its) { return mine | its; });
  }
  CoreSet& operator&=(const CoreSet& other) {
    return change(other, [](std::uint64_t mine, std::uint64_t its) { return mine & its; });
  }
  CoreSet& operator-=(const CoreSet& other) {
    return change(other, [](std::uint64_t mine, std::uint64_t its) { return mine & ~its; });
  }
  friend CoreSet operator|(CoreSet a, const CoreSet& b) { return a |= b; }
  friend CoreSet operator&(CoreSet a, const CoreSet& b) { return a &= b; }
  friend CoreSet operator-(CoreSet a, const CoreSet& b) { return a -= b; }

  // How many are in both.
  std::size_t size_with(const CoreSet& other) const {
    int count = 0;
    for (std::size_t i = 0; i < kLow; ++i) count += std::popcount(low_[i] & other.low_[i]);
    for (std::size_t i = kLow; i < words(); ++i) count += std::popcount(word(i) & other.word(i));
    return static_cast<std::size_t>(count);
  }
  // The lowest `count` of them, all if there are fewer.
  CoreSet first(std::size_t count) const {
    CoreSet found = *this;
    if (count >= size()) return found;
    for (std::size_t i = 0; i < words(); ++i) {
      const auto here = static_cast<std::size_t>(std::popcount(word(i)));
      if (here <= count) {
        count -= here;
        continue;
      }
      std::uint64_t rest = word(i);
      for (; count > 0; --count) rest &= rest - 1;
      (i < kLow ? found.low_[i] : found.high_[i - kLow]) &= ~rest;
    }
    found.settle();
    return found;
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t kLow = 4;

  static std::uint64_t bit(std::int32_t id) {
    return std::uint64_t{1} << (static_cast<std::size_t>(id) % kBits);
  }
  std::size_t words() const { return kLow + high_.size(); }
  std::uint64_t word(std::size_t i) const {
    if (i < kLow) return low_[i];
    return i < words() ? high_[i - kLow] : 0;
  }

  template <class Change>
  CoreSet& change(const CoreSet& other, Change change) {
    for (std::size_t i = 0; i < kLow; ++i) low_[i] = change(low_[i], other.low_[i]);
    if (high_.size() < other.high_.size()) high_.resize(other.high_.size());
    for (std::size_t i = kLow; i < words(); ++i) {
      high_[i - kLow] = change(high_[i - kLow], other.word(i));
    }
    settle();
    return *this;
  }
  // Counts, and drops words that are not needed: equal sets are equal in all members.
  void settle() {
    while (!high_.empty() && high_.back() == 0) high_.pop_back();
    int count = 0;
    for (std::size_t i = 0; i < words(); ++i) count += std::popcount(word(i));
    count_ = count;
  }

  std::array<std::uint64_t, kLow> low_ = {};
  std::vector<std::uint64_t> high_;  // words of higher ids; the last is not 0
  std::int32_t count_ = 0;
};

}  // namespace dove
