// IdMap: a std::map for keys that are ids, given out in ascending order.
//
// Values lie in blocks of neighbouring ids, and blocks in pages. Finding, adding or removing a
// value looks up its page, among few. Iteration is in ascending order and follows memory.
// References stay valid until their own element is removed. A few elements scattered over many ids
// cost a block each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace dove::core {

template <class Id, class T>
class IdMap {
 public:
  using value_type = std::pair<const Id, T>;

  IdMap() = default;
  IdMap(IdMap&&) noexcept = default;
  IdMap& operator=(IdMap&&) noexcept = default;
  IdMap(const IdMap& other) : size_(other.size_) {
    for (const auto& [number, page] : other.pages_) {
      pages_.emplace_back(number, std::make_unique<Page>(*page));
    }
  }
  IdMap& operator=(const IdMap& other) {
    if (this != &other) *this = IdMap(other);
    return *this;
  }

  template <class Map, class Value>
  class Iterator {
   public:
    Iterator(Map* map, Value* value) : map_(map), value_(value) {}
    Value& operator*() const { return *value_; }
    Value* operator->() const { return value_; }
    Iterator& operator++() {
      value_ = map_->next(value_->first.value + 1);
      return *this;
    }
    bool operator==(const Iterator& other) const { return value_ == other.value_; }
    operator Iterator<const IdMap, const value_type>() const { return {map_, value_}; }

   private:
    friend class IdMap;
    Map* map_;
    Value* value_;  // null: the end
  };
  using iterator = Iterator<IdMap, value_type>;
  using const_iterator = Iterator<const IdMap, const value_type>;

  iterator begin() { return {this, next(0)}; }
  iterator end() { return {this, nullptr}; }
  const_iterator begin() const { return {this, next(0)}; }
  const_iterator end() const { return {this, nullptr}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool contains(Id id) const { return slot(id.value) != nullptr; }

  iterator find(Id id) { return {this, slot(id.value)}; }
  const_iterator find(Id id) const { return {this, slot(id.value)}; }
  // The first element whose id is not below `id`.
  iterator lower_bound(Id id) { return {this, next(id.value)}; }
  const_iterator lower_bound(Id id) const { return {this, next(id.value)}; }

  // Calls visit(value) for those whose id is not below `from`, ascending, until it returns false:
  // faster than iterators are. `visit` changes nothing here.
  template <class Visit>
  void each_from(Id from, Visit visit) const {
    for (Place at = place_from(from.value); at.block != nullptr; at = place_from(at.after())) {
      for (std::size_t i = at.slot; i < kBlock; i = at.block->next(i + 1)) {
        if (!visit(std::as_const(at.block->slots->at(i)->second))) return;
      }
    }
  }

  template <class... Args>
  std::pair<iterator, bool> try_emplace(Id id, Args&&... args) {
    Block& block = block_for(id.value);
    const std::size_t at = id.value % kBlock;
    value_type* value = block.slots->at(at);
    if (block.has(at)) return {{this, value}, false};
    std::construct_at(value, std::piecewise_construct, std::forward_as_tuple(id),
                      std::forward_as_tuple(std::forward<Args>(args)...));
    block.set(at);
    ++size_;
    return {{this, value}, true};
  }
  std::pair<iterator, bool> emplace(Id id, T value) { return try_emplace(id, std::move(value)); }
  T& operator[](Id id) { return try_emplace(id).first->second; }
  const T& at(Id id) const {
    const value_type* value = slot(id.value);
    CHECK(value != nullptr, "an id that is not there");
    return value->second;
  }

  std::size_t erase(Id id) {
    if (slot(id.value) == nullptr) return 0;
    --size_;
    const auto page = page_from(id.value / kPage);
    Block& block = page->second->blocks[id.value % kPage / kBlock];
    block.drop(id.value % kBlock);
    if (block.next(0) < kBlock) return 1;
    block.slots.reset();
    if (--page->second->count == 0) pages_.erase(page);
    return 1;
  }
  void erase(iterator at) { erase(at->first); }
  void clear() { *this = IdMap(); }

 private:
  static constexpr std::uint64_t kBlock = 256;
  static constexpr std::uint64_t kPage = 256 * kBlock;

  // The values of a block, each where its id says.
  struct alignas(64) Slots {
    alignas(value_type) std::array<std::byte, kBlock * sizeof(value_type)> bytes;

    Slots() {}
    value_type* at(std::size_t i) { return reinterpret_cast<value_type*>(bytes.data()) + i; }
  };

  // Which slots are used lies beside where they are: to find a value, or that there is none, takes
  // a look at one line of memory.
  struct alignas(64) Block {
    std::array<std::uint64_t, kBlock / 64> used = {};
    std::unique_ptr<Slots> slots;  // null: none is used

    Block() = default;
    Block(const Block& other) : slots(other.slots == nullptr ? nullptr : new Slots) {
      for (std::size_t i = other.next(0); i < kBlock; i = other.next(i + 1)) {
        std::construct_at(slots->at(i), std::as_const(*other.slots->at(i)));
        set(i);
      }
    }
    Block& operator=(const Block&) = delete;
    ~Block() {
      for (std::size_t i = next(0); i < kBlock; i = next(i + 1)) std::destroy_at(slots->at(i));
    }
    bool has(std::size_t i) const { return (used[i / 64] >> (i % 64) & 1) != 0; }
    void set(std::size_t i) { used[i / 64] |= std::uint64_t{1} << (i % 64); }
    void drop(std::size_t i) {
      std::destroy_at(slots->at(i));
      used[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    // The first used slot from `i` on; kBlock when there is none.
    std::size_t next(std::size_t i) const {
      while (i < kBlock) {
        const std::uint64_t rest = used[i / 64] >> (i % 64);
        if (rest != 0) return i + static_cast<std::size_t>(std::countr_zero(rest));
        i = (i / 64 + 1) * 64;
      }
      return kBlock;
    }
  };

  struct Page {
    std::array<Block, kPage / kBlock> blocks;
    std::size_t count = 0;  // of blocks in use
  };

  // The place of an element; without a block: of none.
  struct Place {
    std::uint64_t first = 0;  // id of the block's first slot
    Block* block = nullptr;
    std::size_t slot = 0;
    std::uint64_t after() const { return first + kBlock; }
  };

  using Pages = std::vector<std::pair<std::uint64_t, std::unique_ptr<Page>>>;

  // The first page from number `page` on.
  typename Pages::const_iterator page_from(std::uint64_t page) const {
    return std::lower_bound(
        pages_.begin(), pages_.end(), page,
        [](const auto& one, std::uint64_t number) { return one.first < number; });
  }
  // The element's; null when there is none.
  value_type* slot_in(std::uint64_t index) const {
    const auto page = page_from(index / kPage);
    if (page == pages_.end() || page->first != index / kPage) return nullptr;
    Block& block = page->second->blocks[index % kPage / kBlock];
    return block.has(index % kBlock) ? block.slots->at(index % kBlock) : nullptr;
  }
  value_type* slot(std::uint64_t index) { return slot_in(index); }
  const value_type* slot(std::uint64_t index) const { return slot_in(index); }
  Block& block_for(std::uint64_t index) {
    auto page = page_from(index / kPage);
    if (page == pages_.end() || page->first != index / kPage) {
      page = pages_.emplace(page, index / kPage, std::make_unique<Page>());
    }
    Block& block = page->second->blocks[index % kPage / kBlock];
    if (block.slots == nullptr) {
      block.slots.reset(new Slots);
      ++page->second->count;
    }
    return block;
  }
  // The first element from `index` on.
  Place place_from(std::uint64_t index) const {
    for (auto at = page_from(index / kPage); at != pages_.end(); ++at) {
      std::uint64_t from = at->first == index / kPage ? index % kPage : 0;
      for (; from < kPage; from = (from / kBlock + 1) * kBlock) {
        Block& block = at->second->blocks[from / kBlock];
        const std::size_t found = block.next(from % kBlock);
        if (found < kBlock) return {at->first * kPage + from / kBlock * kBlock, &block, found};
      }
    }
    return {};
  }
  // The first element from `index` on; null when there is none.
  value_type* next(std::uint64_t index) {
    const Place found = place_from(index);
    return found.block == nullptr ? nullptr : found.block->slots->at(found.slot);
  }
  const value_type* next(std::uint64_t index) const {
    const Place found = place_from(index);
    return found.block == nullptr ? nullptr : found.block->slots->at(found.slot);
  }

  Pages pages_;  // ascending by id / kPage; none is empty
  std::size_t size_ = 0;
};

}  // namespace dove::core
