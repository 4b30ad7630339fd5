#include "sim/checked_brain.h"

#include <fmt/format.h>

#include "core/cycle/next_wake.h"
#include "core/cycle/scheduler.h"
#include "core/plan/promise.h"
#include "core/state/apply.h"
#include "core/state/hash.h"
#include "core/state/invariants.h"
#include "sim/scenario_words.h"

namespace dove::sim {
namespace {

Error failed(std::string what) {
  return Error{ErrorKind::kInternal, "check_failed", std::move(what), ""};
}

std::string text_of(const std::vector<Decision>& decisions) {
  const Names names{[](JobId id) { return fmt::format("job{}", id.value); },
                    [](NodeId id) { return fmt::format("node{}", id.value); }};
  std::string text;
  for (const Decision& decision : decisions) text += "\n  " + sim::text_of(decision, names);
  return text;
}

}  // namespace

void CheckedBrain::begin(Instant at) { brain_.begin_batch(at, epoch_); }

void CheckedBrain::next_epoch() {
  ++epoch_.value;
  begin(state().now);
}

void CheckedBrain::add(Event event) {
  records_.push_back({state().now, epoch_, event});
  brain_.apply(StampedEvent{std::move(event), {}});
}

Result<std::vector<Decision>> CheckedBrain::decide() {
  core::Scheduler copy(policies(), state());
  core::CycleOptions options;
  options.observer = this;
  std::vector<Decision> decisions = brain_.decide(options);
  if (broken_) return failed(*broken_);
  for (const Decision& decision : decisions) {
    records_.push_back({state().now, epoch_, decision});
  }
  const std::vector<Decision> again = copy.decide();
  if (again != decisions) {
    return failed(fmt::format("a state without caches decides differently: {}\ninstead of: {}",
                              text_of(again), text_of(decisions)));
  }
  if (core::state_hash(copy.state()) != core::state_hash(state())) {
    return failed("a state without caches ends differently");
  }
  if (copy.wake_at() != brain_.wake_at()) {
    return failed("a state without caches wakes at another time");
  }
  if (core::wake_at(state()) != brain_.wake_at()) return failed("a scan wakes at another time");
  core::State settled = state();
  const std::vector<Decision> more = core::decide(settled, policies());
  if (!more.empty() && brain_.wake_at() > state().now) {
    return failed(fmt::format("deciding twice decides more: {}\nafter: {}", text_of(more),
                              text_of(decisions)));
  }
  return decisions;
}

Result<void> CheckedBrain::check_fold() const {
  core::State folded;
  for (const Record& record : records_) {
    core::begin_batch(folded, record.at, record.epoch);
    if (const auto* event = std::get_if<Event>(&record.what)) {
      core::apply(folded, StampedEvent{*event, {}});
    } else {
      core::apply(folded, std::get<Decision>(record.what));
    }
  }
  core::begin_batch(folded, state().now, state().epoch);
  if (core::state_hash(folded) == core::state_hash(state())) return {};
  return failed("folding the records gives another state");
}

void CheckedBrain::ended(core::Pass pass, const core::State& state) {
  if (broken_) return;
  if (const auto broken = core::find_broken_invariant(state)) {
    broken_ = fmt::format("after pass {}: {}", core::pass_name(pass), *broken);
    return;
  }
  if (!declared_) broken_ = core::find_broken_promise(state);
}

}  // namespace dove::sim
