#include "sim/why_history.h"

#include <fmt/format.h>

#include <vector>

#include "base/random.h"
#include "codec/words.h"
#include "core/explain/explain.h"
#include "core/queue/policy.h"
#include "sim/plain_brain.h"
#include "sim/random_world.h"
#include "sim/why_check.h"

namespace dove::sim {
namespace {

void ask(const PlainBrain& brain, std::uint64_t seed, Random& random, WhyFindings& findings) {
  const core::State& state = brain.state();
  // What is due now has not been decided yet.
  if (brain.wake_at() <= state.now) return;
  std::vector<JobId> waiting;
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kWaiting) waiting.push_back(id);
  }
  if (waiting.empty()) return;
  const JobId job = waiting[random.below(waiting.size())];
  ++findings.states;
  for (const Reason& reason : core::explain(state, brain.policies(), job)) {
    ++findings.by_kind[std::string(codec::word(reason.kind))];
  }
  const auto wrong = find_wrong_reason(state, brain.policies(), job);
  if (!wrong) return;
  if (findings.wrong++ == 0) {
    findings.first_wrong = fmt::format("seed {}, head {}, {}", seed, state.head.value, *wrong);
  }
}

}  // namespace

Result<void> ask_why(const core::Policies& policies, std::uint64_t seed, int batches,
                     WhyFindings& findings, bool with_quotas) {
  PlainBrain brain(policies);
  RandomWorld world(brain, seed, true, /*with_hangs=*/false, with_quotas);
  Random random(seed);
  brain.begin(Instant{1'000'000'000});
  world.set_up();
  for (int i = 0; i < batches; ++i) {
    for (const Decision& decision : brain.decide()) TRY(world.account(decision));
    ask(brain, seed, random, findings);
    brain.begin(world.next_instant());
    brain.add(TimeReached{});
    world.some_events();
  }
  return {};
}

}  // namespace dove::sim
