// CheckedBrain: the step with every check that the design asks for, for scenarios and properties.
//
// Checks the books after each pass and at the end of each cycle; decides each cycle again on a copy
// that has no caches and compares; records all that happens, so that it can be folded again.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/cycle/cycle.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"
#include "sim/random_world.h"

namespace dove::sim {

class CheckedBrain final : public Brain, private core::PassObserver {
 public:
  // `declared`: limits and reservations change meanwhile, and what they make of promises is not
  // looked at.
  explicit CheckedBrain(const core::Policies& policies, bool declared = false)
      : policies_(policies), declared_(declared) {}

  const core::State& state() const override { return state_; }
  const core::Policies& policies() const override { return policies_; }

  void begin(Instant at);  // a batch; REQUIRES: at >= state().now
  void next_epoch() override;
  void add(Event event) override;
  // The decisions, or the first check that failed.
  Result<std::vector<Decision>> decide();
  // Folds all records into a fresh State and compares it with the one that decided.
  Result<void> check_fold() const;

 private:
  struct Record {
    Instant at;
    Epoch epoch;
    std::variant<Event, Decision> what;
  };

  void begins(core::Pass, const core::State&) override {}
  void ended(core::Pass pass, const core::State& state) override;

  core::Policies policies_;
  bool declared_;
  core::State state_;
  Epoch epoch_{1};
  std::vector<Record> records_;
  std::optional<std::string> broken_;
};

}  // namespace dove::sim
