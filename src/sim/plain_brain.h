// PlainBrain: the step without the checks of CheckedBrain, for long random histories.
#pragma once

#include <utility>
#include <vector>

#include "core/cycle/scheduler.h"
#include "sim/random_world.h"

namespace dove::sim {

class PlainBrain final : public Brain {
 public:
  explicit PlainBrain(const core::Policies& policies) : brain_(policies) {}

  const core::State& state() const override { return brain_.state(); }
  const core::Policies& policies() const override { return brain_.policies(); }
  Instant wake_at() const override { return brain_.wake_at(); }
  void add(Event event) override {
    brain_.apply(StampedEvent{std::move(event), {}});
    ++events_;
  }
  void next_epoch() override {
    ++epoch_.value;
    begin(state().now);
  }
  void begin(Instant at) { brain_.begin_batch(at, epoch_); }
  std::vector<Decision> decide() { return brain_.decide(); }
  std::uint64_t events() const { return events_; }

 private:
  core::Scheduler brain_;
  Epoch epoch_{1};
  std::uint64_t events_ = 0;
};

}  // namespace dove::sim
