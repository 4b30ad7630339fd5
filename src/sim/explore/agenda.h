// Agenda: what is still to happen, in virtual time. One thread; the same calls give the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace dove::sim {

class Agenda {
 public:
  using Call = std::function<void()>;

  // Microseconds since the exploration began.
  std::int64_t now_us() const { return now_us_; }
  std::uint64_t steps() const { return steps_; }
  // Calls of one instant are made in the order of their asking. Past instants are now.
  void at(std::int64_t at_us, Call call);
  void in(std::int64_t delay_us, Call call) { at(now_us_ + delay_us, std::move(call)); }
  // Goes to the next call and makes it; false when there is none.
  bool step();

 private:
  struct Entry {
    std::int64_t at_us;
    std::uint64_t order;
    std::uint32_t slot;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.at_us != b.at_us ? a.at_us > b.at_us : a.order > b.order;
  }

  std::int64_t now_us_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t asked_ = 0;
  std::vector<Entry> heap_;
  std::vector<Call> calls_;  // by slot
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace dove::sim
