// What this process holds of device memory, by what the driver called it: to know how much is given
// back. A table that grows, in memory of its own. Any thread; REQUIRES of every call: the process's
// lock is held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "share/calls.h"

namespace dove::share {

enum class Kind : std::uint32_t {
  kFree,     // of an entry: nothing is there
  kPointer,  // from cuMemAlloc and its like
  kHandle,   // from cuMemCreate: held by its holders and by where it is mapped
  kMapping,  // of a handle, at an address
};

struct Holding {
  std::uint64_t key = 0;  // address or handle
  std::uint64_t bytes = 0;
  std::uint64_t handle = 0;     // of a mapping
  CuContext context = nullptr;  // it ends with it; nullptr: with the process
  Kind kind = Kind::kFree;
  std::int16_t device = 0;  // of the ledger
  std::uint16_t uses = 1;   // of a handle
};

class Holdings {
 public:
  // False: there is no memory for the table.
  bool add(const Holding& holding);
  // nullptr: nothing is known of it. Valid until the next add() or remove().
  Holding* find(Kind kind, std::uint64_t key);
  void remove(Holding* holding);
  // The first at or behind entry `from` that `is_wanted`; `from` is moved behind it. nullptr: none.
  // A remove() may move entries: begin at 0 again then.
  template <class Wanted>
  Holding* next(std::size_t& from, Wanted is_wanted) {
    for (; from < size_; ++from) {
      if (entries_[from].kind != Kind::kFree && is_wanted(entries_[from])) return &entries_[from++];
    }
    return nullptr;
  }
  void forget();  // after a fork

 private:
  std::size_t place_of(Kind kind, std::uint64_t key) const;
  bool grow();

  Holding* entries_ = nullptr;
  std::size_t size_ = 0;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace dove::share
