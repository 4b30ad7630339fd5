#include "core/cycle/cycle.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/digest.h"
#include "core/cycle/passes.h"
#include "core/place/score.h"
#include "core/state/apply.h"

namespace dove::core {
namespace {

// Raised whenever the same state could give other decisions than before.
constexpr int kCycle_version = 30;

struct PassEntry {
  Pass pass;
  std::string_view name;
  Back (*run)(Cycle& cycle);
};

// In the order in which they run.
// Ends come before starts: what expires or finishes frees room in the same cycle, and what becomes
// eligible is in the queue before places are given.
constexpr std::array<PassEntry, kPass_count> kPasses = {{
    {Pass::kExpire, "expire", expire},
    {Pass::kNodes, "nodes", maintain_nodes},
    {Pass::kFinish, "finish", finish},
    {Pass::kDependencies, "dependencies", resolve_dependencies},
    {Pass::kOrder, "order", order},
    // A promise that is kept may let others start, and whoever is stopped lets others come earlier:
    // the last two go back to kPlace, or to kPromise, until nothing is opened any more.
    {Pass::kPlace, "place", place},
    {Pass::kPromise, "promise", promise},
    {Pass::kPreempt, "preempt", preempt},
    {Pass::kBarrier, "barrier", pass_barriers},
    {Pass::kPurge, "purge", purge},
}};

constexpr std::size_t index_of(Pass pass) { return static_cast<std::size_t>(pass); }

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    if (index_of(kPasses[i].pass) != i) return false;
  }
  return true;
}
// `Back` jumps by index, so a misplaced row would send the cycle to another pass.
static_assert(is_in_order(), "the table has each Pass at its place");

// What a pass that is off would have taken must not pile up. Jobs are queued without an order
// policy by submission, so the work of kDependencies and kOrder is done in any case.
bool runs(Pass pass, const CycleOptions& options) {
  return options.runs(pass) || pass == Pass::kOrder;
}

Back run(const PassEntry& entry, Cycle& cycle, const CycleOptions& options) {
  if (!runs(entry.pass, options)) return std::nullopt;
  if (options.observer != nullptr) options.observer->begins(entry.pass, cycle.state);
  const Back back = entry.run(cycle);
  if (options.observer != nullptr) options.observer->ended(entry.pass, cycle.state);
  return back;
}

}  // namespace

std::string_view pass_name(Pass pass) { return kPasses[index_of(pass)].name; }

void Cycle::emit(Decision decision) {
  // Applied at once: each decision is made in a state that has all earlier ones, and the log's
  // order is the order in which they were made. The indexes follow before anybody asks them again.
  core::apply(state, decision);  // not std::apply, which a variant's namespace offers
  decisions.push_back(std::move(decision));
  sync(state, indexes);
}

std::vector<Decision> run_cycle(State& state, Indexes& indexes, const Policies& policies,
                                const CycleOptions& options) {
  // First what the batch's events changed; from then on `emit` keeps the indexes in step.
  prepare(state, indexes, policies, options);
  Cycle cycle{state, indexes, policies, options.runs(Pass::kPlace)};
  // As many as in the last cycle. Only a guess at memory; nothing that is decided depends on it.
  cycle.decisions.reserve(indexes.decided);
  for (std::size_t at = 0; at < kPasses.size();) {
    const Back back = run(kPasses[at], cycle, options);
    at = back ? index_of(*back) : at + 1;
  }
  // Work of passes that are off, which must not pile up.
  indexes.to_finish.clear();
  indexes.to_start.clear();
  indexes.decided = cycle.decisions.size();
  purge_classes(indexes);
  return std::move(cycle.decisions);
}

std::string policy_digest(const Policies& policies, const CycleOptions& options) {
  // All that decisions depend on beside the state. What was decided under another digest is folded
  // and counted as unverified.
  std::string text = fmt::format("cycle/{} order={} placement={}", kCycle_version,
                                 policies.order->name(), policies.placement->name());
  for (const OrderPolicy* order : policies.orders) text += fmt::format(" {}", order->name());
  for (const ScorePolicy* score : policies.scores) text += fmt::format(" score={}", score->name());
  for (const PassEntry& entry : kPasses) {
    if (!options.runs(entry.pass)) text += fmt::format(" -{}", entry.name);
  }
  Digest digest;
  digest.add(text);
  return fmt::format("{} {:016x}", text, digest.value());
}

}  // namespace dove::core
