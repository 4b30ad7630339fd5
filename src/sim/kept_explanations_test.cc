// Explanations that follow a State say what explanations of that State alone say.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "core/explain/explain.h"
#include "core/explain/explanations.h"
#include "core/state/apply.h"
#include "policies/standard.h"
#include "sim/plain_brain.h"
#include "sim/random_world.h"

namespace dove::sim {
namespace {

bool same(const UnitRoom& a, const UnitRoom& b) {
  return std::tie(a.unit, a.free, a.usable) == std::tie(b.unit, b.free, b.usable);
}

bool same(const Reason& a, const Reason& b) {
  const auto facts = [](const Reason& r) {
    return std::tie(r.kind, r.subject, r.resource, r.needs, r.free, r.used, r.limit, r.total,
                    r.count, r.other, r.until, r.level);
  };
  return facts(a) == facts(b) &&
         std::equal(a.units.begin(), a.units.end(), b.units.begin(), b.units.end(),
                    [](const UnitRoom& one, const UnitRoom& other) { return same(one, other); });
}

// Decides, and folds all that it does into a second state, as a server does.
class FollowedBrain final : public Brain {
 public:
  const core::State& state() const override { return brain_.state(); }
  const core::Policies& policies() const override { return brain_.policies(); }
  Instant wake_at() const override { return brain_.wake_at(); }
  void add(Event event) override {
    core::apply(projection_, StampedEvent{event, {}});
    brain_.add(std::move(event));
  }
  void next_epoch() override {
    ++epoch_.value;
    brain_.next_epoch();
    core::begin_batch(projection_, brain_.state().now, epoch_);
  }
  void begin(Instant at) {
    brain_.begin(at);
    core::begin_batch(projection_, at, epoch_);
  }
  std::vector<Decision> decide() {
    std::vector<Decision> decisions = brain_.decide();
    for (const Decision& decision : decisions) core::apply(projection_, decision);
    return decisions;
  }

  core::State& projection() { return projection_; }

 private:
  PlainBrain brain_{policies::standard_policies()};
  core::State projection_;
  Epoch epoch_{1};
};

class KeptExplanations : public testing::TestWithParam<std::uint64_t> {
 protected:
  void ask(const core::Job& job) {
    const auto kept = answers.explain(brain.policies(), job);
    const auto fresh = core::explain(brain.projection(), brain.policies(), job);
    ASSERT_EQ(kept.size(), fresh.size()) << "job " << job.id.value;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ASSERT_TRUE(same(kept[i], fresh[i]))
          << "job " << job.id.value << ", reason " << i << " of kind "
          << static_cast<int>(fresh[i].kind) << ": " << kept[i].free << "/" << kept[i].total
          << " and " << fresh[i].free << "/" << fresh[i].total;
    }
    ++asked;
  }
  void ask_some() {
    std::vector<const core::Job*> waiting;
    for (const auto& [id, job] : brain.projection().jobs) {
      if (job.phase == JobPhase::kWaiting) waiting.push_back(&job);
    }
    // Not each time: what changed between two questions is looked at together.
    if (waiting.empty() || random.below(3) == 0) return;
    ask(*waiting[random.below(waiting.size())]);
    const core::Job& job = *waiting[random.below(waiting.size())];
    const core::OtherSets kept = answers.other_sets(brain.policies(), job);
    const core::OtherSets fresh = core::other_sets(brain.projection(), brain.policies(), job);
    EXPECT_EQ(kept.sets.size(), fresh.sets.size());
    EXPECT_EQ(kept.all, fresh.all);
  }

  FollowedBrain brain;
  core::Explanations answers{brain.projection()};
  Random random{GetParam()};
  int asked = 0;
};

TEST_P(KeptExplanations, AreThoseOfTheStateAlone) {
  RandomWorld world(brain, GetParam(), true, /*with_hangs=*/false, /*with_quotas=*/true);
  brain.begin(Instant{1'000'000'000});
  world.set_up();
  for (int i = 0; i < 250 && !HasFatalFailure(); ++i) {
    for (const Decision& decision : brain.decide()) ASSERT_TRUE(world.account(decision).ok());
    ask_some();
    if (i % 50 == 49) answers.forget_much();
    brain.begin(world.next_instant());
    brain.add(TimeReached{});
    world.some_events();
  }
  EXPECT_GT(asked, 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeptExplanations, testing::Range<std::uint64_t>(1, 25));

}  // namespace
}  // namespace dove::sim
