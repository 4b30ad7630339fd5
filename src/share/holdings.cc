#include "share/holdings.h"

#include <sys/mman.h>

#include <cstring>

namespace dove::share {
namespace {

constexpr std::size_t kSizeFirst = 1024;

std::size_t hash(std::uint64_t key) {
  return static_cast<std::size_t>((key ^ (key >> 32)) * 0x9E3779B97F4A7C15u >> 17);
}

}  // namespace

// Where it is, or would be.
std::size_t Holdings::place_of(Kind kind, std::uint64_t key) const {
  std::size_t at = hash(key) & (size_ - 1);
  while (entries_[at].kind != Kind::kFree && (entries_[at].kind != kind || entries_[at].key != key))
    at = (at + 1) & (size_ - 1);
  return at;
}

bool Holdings::grow() {
  const std::size_t size = size_ == 0 ? kSizeFirst : size_ * 2;
  void* map = ::mmap(nullptr, size * sizeof(Holding), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return false;
  Holding* const former = entries_;
  const std::size_t former_size = size_;
  entries_ = static_cast<Holding*>(map);
  size_ = size;
  for (std::size_t i = 0; i < former_size; ++i) {
    if (former[i].kind == Kind::kFree) continue;
    entries_[place_of(former[i].kind, former[i].key)] = former[i];
  }
  if (former != nullptr) ::munmap(former, former_size * sizeof(Holding));
  return true;
}

bool Holdings::add(const Holding& holding) {
  if ((count_ + 1) * 2 > size_ && !grow()) return false;
  Holding& entry = entries_[place_of(holding.kind, holding.key)];
  if (entry.kind == Kind::kFree) ++count_;
  entry = holding;
  return true;
}

Holding* Holdings::find(Kind kind, std::uint64_t key) {
  if (size_ == 0) return nullptr;
  Holding& entry = entries_[place_of(kind, key)];
  return entry.kind == Kind::kFree ? nullptr : &entry;
}

// What stands behind it in its run moves up, or it would not be found any more.
void Holdings::remove(Holding* holding) {
  auto hole = static_cast<std::size_t>(holding - entries_);
  entries_[hole].kind = Kind::kFree;
  --count_;
  for (std::size_t at = (hole + 1) & (size_ - 1); entries_[at].kind != Kind::kFree;
       at = (at + 1) & (size_ - 1)) {
    const Holding moved = entries_[at];
    entries_[at].kind = Kind::kFree;
    entries_[place_of(moved.kind, moved.key)] = moved;
  }
}

void Holdings::forget() {
  if (entries_ != nullptr) ::munmap(entries_, size_ * sizeof(Holding));
  entries_ = nullptr;
  size_ = count_ = 0;
}

}  // namespace dove::share
