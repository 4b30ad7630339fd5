#include "sim/checked_brain.h"

#include <fmt/format.h>

#include "core/state/step.h"
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

void CheckedBrain::begin(Instant at) { core::begin_batch(state_, at, epoch_); }

void CheckedBrain::next_epoch() {
  ++epoch_.value;
  begin(state_.now);
}

void CheckedBrain::add(Event event) {
  records_.push_back({state_.now, epoch_, event});
  core::apply(state_, StampedEvent{std::move(event), {}});
}

Result<std::vector<Decision>> CheckedBrain::decide() {
  core::State copy = state_;
  core::CycleOptions options;
  options.observer = this;
  std::vector<Decision> decisions = core::decide(state_, policies_, options);
  if (broken_) return failed(*broken_);
  for (const Decision& decision : decisions) {
    records_.push_back({state_.now, epoch_, decision});
  }
  const std::vector<Decision> again = core::decide(copy, policies_);
  if (again != decisions) {
    return failed(fmt::format("a state without caches decides differently: {}\ninstead of: {}",
                              text_of(again), text_of(decisions)));
  }
  if (core::state_hash(copy) != core::state_hash(state_)) {
    return failed("a state without caches ends differently");
  }
  if (core::wake_at(copy) != core::wake_at(state_)) {
    return failed("a state without caches wakes at another time");
  }
  copy.derived.reset();
  const Instant scanned = core::wake_at(copy);
  if (scanned != core::wake_at(state_)) return failed("a scan wakes at another time");
  core::State settled = state_;
  const std::vector<Decision> more = core::decide(settled, policies_);
  if (!more.empty() && core::wake_at(state_) > state_.now) {
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
  core::begin_batch(folded, state_.now, state_.epoch);
  if (core::state_hash(folded) == core::state_hash(state_)) return {};
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
