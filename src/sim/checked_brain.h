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
#include "core/cycle/scheduler.h"
#include "model/event.h"
#include "sim/random_world.h"

namespace dove::sim {

class CheckedBrain final : public Brain, private core::PassObserver {
 public:
  // `declared`: limits and reservations change meanwhile, and what they make of promises is not
  // looked at.
  explicit CheckedBrain(const core::Policies& policies, bool declared = false)
      : brain_(policies), declared_(declared) {}

  const core::State& state() const override { return brain_.state(); }
  const core::Policies& policies() const override { return brain_.policies(); }
  Instant wake_at() const override { return brain_.wake_at(); }

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

  core::Scheduler brain_;
  bool declared_;
  Epoch epoch_{1};
  std::vector<Record> records_;
  std::optional<std::string> broken_;
};

}  // namespace dove::sim
