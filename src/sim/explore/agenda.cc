#include "sim/explore/agenda.h"

#include <algorithm>

namespace dove::sim {

void Agenda::at(std::int64_t at_us, Call call) {
  std::uint32_t slot = static_cast<std::uint32_t>(calls_.size());
  if (free_slots_.empty()) {
    calls_.push_back(std::move(call));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    calls_[slot] = std::move(call);
  }
  heap_.push_back(Entry{std::max(at_us, now_us_), asked_++, slot});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool Agenda::step() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Entry next = heap_.back();
  heap_.pop_back();
  now_us_ = next.at_us;
  ++steps_;
  const Call call = std::move(calls_[next.slot]);
  calls_[next.slot] = nullptr;
  free_slots_.push_back(next.slot);
  call();
  return true;
}

}  // namespace dove::sim
