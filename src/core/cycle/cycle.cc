#include "core/cycle/cycle.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "core/cycle/passes.h"
#include "core/place/score.h"
#include "core/plan/backfill.h"
#include "core/state/step.h"

namespace dove::core {
namespace {

// Raised whenever the same state could give other decisions than before.
constexpr int kCycle_version = 7;

void run(Pass pass, Cycle& cycle) {
  switch (pass) {
    case Pass::kExpire:
      return expire(cycle);
    case Pass::kTend:
      return tend(cycle);
    case Pass::kFinish:
      return finish(cycle);
    case Pass::kDependencies:
      return resolve_dependencies(cycle);
    case Pass::kOrder:
      return order(cycle);
    case Pass::kPlace:
      return place(cycle);
    case Pass::kPreempt:
      return preempt(cycle);
    case Pass::kBackfill:
      return make_promises(cycle);
    case Pass::kBarrier:
      return pass_barriers(cycle);
    case Pass::kRetain:
      return retain(cycle);
  }
}

// What a pass that is off would have taken must not pile up. Jobs are queued without an order
// policy by submission, so the work of kDependencies and kOrder is done in any case.
bool runs(Pass pass, const CycleOptions& options) {
  return options.runs(pass) || pass == Pass::kOrder;
}

}  // namespace

std::string_view pass_name(Pass pass) {
  switch (pass) {
    case Pass::kExpire:
      return "expire";
    case Pass::kTend:
      return "tend";
    case Pass::kFinish:
      return "finish";
    case Pass::kDependencies:
      return "dependencies";
    case Pass::kOrder:
      return "order";
    case Pass::kPlace:
      return "place";
    case Pass::kPreempt:
      return "preempt";
    case Pass::kBackfill:
      return "backfill";
    case Pass::kBarrier:
      return "barrier";
    case Pass::kRetain:
      return "retain";
  }
  return "";
}

void Cycle::emit(Decision decision) {
  core::apply(state, decision);  // not std::apply, which a variant's namespace offers
  decisions.push_back(std::move(decision));
  sync(state);
}

std::vector<Decision> decide(State& state, const Policies& policies, const CycleOptions& options) {
  prepare_derived(state, policies, options);
  Cycle cycle{state, policies, options.runs(Pass::kPlace), options.runs(Pass::kBackfill)};
  cycle.decisions.reserve(state.derived->decided);
  for (Pass pass : kPasses) {
    if (!runs(pass, options)) continue;
    if (options.observer != nullptr) options.observer->begins(pass, state);
    run(pass, cycle);
    if (options.observer != nullptr) options.observer->ended(pass, state);
  }
  Derived& derived = *state.derived;
  derived.to_finish.clear();
  derived.to_start.clear();
  derived.decided = cycle.decisions.size();
  purge_classes(state);
  return std::move(cycle.decisions);
}

std::string policy_digest(const Policies& policies, const CycleOptions& options) {
  std::string text = fmt::format("cycle/{} order={} placement={}", kCycle_version,
                                 policies.order->name(), policies.placement->name());
  for (const OrderPolicy* order : policies.orders) text += fmt::format(" {}", order->name());
  for (const ScorePolicy* score : policies.scores) text += fmt::format(" score={}", score->name());
  for (Pass pass : kPasses) {
    if (!options.runs(pass)) text += fmt::format(" -{}", pass_name(pass));
  }
  Digest digest;
  digest.add(text);
  return fmt::format("{} {:016x}", text, digest.value());
}

}  // namespace dove::core
