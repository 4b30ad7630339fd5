// PlainBrain: the step without the checks of CheckedBrain, for long random histories.
#pragma once

#include <utility>
#include <vector>

#include "core/state/step.h"
#include "sim/random_world.h"

namespace dove::sim {

class PlainBrain final : public Brain {
 public:
  explicit PlainBrain(const core::Policies& policies) : policies_(policies) {}

  const core::State& state() const override { return state_; }
  const core::Policies& policies() const override { return policies_; }
  void add(Event event) override {
    core::apply(state_, StampedEvent{std::move(event), {}});
    ++events_;
  }
  void next_epoch() override {
    ++epoch_.value;
    begin(state_.now);
  }
  void begin(Instant at) { core::begin_batch(state_, at, epoch_); }
  std::vector<Decision> decide() { return core::decide(state_, policies_); }
  std::uint64_t events() const { return events_; }

 private:
  core::Policies policies_;
  core::State state_;
  Epoch epoch_{1};
  std::uint64_t events_ = 0;
};

}  // namespace dove::sim
