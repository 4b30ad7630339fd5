// Random histories against the invariants. A failure prints its seed; the same seed gives the same
// history.
#include <gtest/gtest.h>

#include "core/state/holders/month_use.h"
#include "policies/standard.h"
#include "sim/checked_brain.h"
#include "sim/random_world.h"
#include "sim/seeds_for_test.h"

namespace dove::sim {
namespace {

Result<void> cycle(CheckedBrain& brain, RandomWorld& world) {
  TRY_ASSIGN(const auto decisions, brain.decide());
  for (const Decision& decision : decisions) TRY(world.account(decision));
  if (brain.state().jobs.size() + world.forgotten() != brain.state().next_job - 1) {
    return Error{ErrorKind::kInternal, "property", "a job is lost", ""};
  }
  brain.begin(world.next_instant());
  brain.add(TimeReached{});
  return {};
}

// How many attempts were stopped because they hung.
Result<std::uint64_t> run(std::uint64_t seed, int batches, bool with_hangs = false,
                          bool with_quotas = false, const char* placement = nullptr) {
  CheckedBrain brain(policies::standard_policies(), /*declared=*/with_quotas);
  RandomWorld world(brain, seed, /*varied=*/with_quotas, with_hangs, with_quotas);
  if (placement != nullptr) world.place_by(placement);
  if (placement != nullptr && std::string_view(placement) == "expected_fit") world.learn();
  brain.begin(Instant{1'000'000'000});
  world.set_up();
  for (int i = 0; i < batches; ++i) {
    TRY(cycle(brain, world));
    world.some_events();
  }
  TRY(cycle(brain, world));
  TRY(brain.check_fold());
  return world.hung();
}

TEST(BrainProperty, RandomHistoriesKeepTheInvariants) {
  const auto [first, count, given] = seeds_for_test(25);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = run(seed, 250);
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
  }
}

// Limits of GPU hours are used up and begin anew while jobs come and go. The number of batches in
// which somebody is over one.
Result<std::uint64_t> run_across_a_month(std::uint64_t seed) {
  CheckedBrain brain(policies::standard_policies(), /*declared=*/true);
  RandomWorld world(brain, seed, /*varied=*/true, /*with_hangs=*/false, /*with_quotas=*/true);
  brain.begin(Instant{core::month_start(1).us - seconds(400).us});
  world.set_up();
  UserLimit everybody;
  everybody.name = "*";
  everybody.limits.gpu_ms_month = 200'000;
  brain.add(ObjectApplied{everybody});
  Domain lab;
  lab.name = "lab";
  lab.limits.gpu_ms_month = 300'000;
  lab.limits.cores = 30;
  brain.add(ObjectApplied{lab});
  UserDeclaration bob;
  bob.name = "bob";
  bob.domain = "lab";
  brain.add(ObjectApplied{bob});
  std::uint64_t over = 0;
  for (int i = 0; i < 250; ++i) {
    TRY(cycle(brain, world));
    const core::State& state = brain.state();
    over += core::month_use_of(state, state.month_by_user, state.usage_by_user, "ann") / 1000 >=
                    everybody.limits.gpu_ms_month
                ? 1
                : 0;
    world.some_events();
  }
  TRY(cycle(brain, world));
  TRY(brain.check_fold());
  return core::month_of(brain.state().now) > 0 ? over : 0;
}

TEST(BrainProperty, RandomHistoriesAcrossAMonthKeepTheInvariants) {
  const auto [first, count, given] = seeds_for_test(25);
  std::uint64_t over = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = run_across_a_month(seed);
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
    over += *done;
  }
  EXPECT_GT(over, 0u);
}

TEST(BrainProperty, RandomHistoriesWithHangsKeepTheInvariants) {
  const auto [first, count, given] = seeds_for_test(25);
  std::uint64_t hung = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = run(seed, 250, /*with_hangs=*/true);
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
    hung += *done;
  }
  EXPECT_GT(hung, 0u);
}

// Whose turn it is lies in the state: a state without caches, and one that is only folded, agree.
TEST(BrainProperty, RandomHistoriesByTurnsKeepTheInvariants) {
  const auto [first, count, given] = seeds_for_test(10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = run(seed, 250, /*with_hangs=*/false, /*with_quotas=*/false, "round_robin");
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
  }
}

TEST(BrainProperty, RandomHistoriesOfWhatLearnsKeepTheInvariants) {
  const auto [first, count, given] = seeds_for_test(15);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = run(seed, 250, /*with_hangs=*/false, /*with_quotas=*/true, "expected_fit");
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
  }
}

TEST(BrainProperty, RandomHistoriesWithQuotasAndReservationsKeepTheInvariants) {
  const auto [first, count, given] = seeds_for_test(25);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto done = run(seed, 250, /*with_hangs=*/false, /*with_quotas=*/true);
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
  }
}

// 5033: a queue with an order of its own stood among others by its first job that was not known to
// have no place. 5379: where nothing passes the first job, another was promised a start if it had
// been tried before. With hangs, 182: only a few jobs over limits are helped, and one that had been
// found to have no place before did not count among them. 5060: places that a limit forbade were
// not looked for again when a hold came to be over its time. 5137: of two queues of equal shares
// the one went first whose next job was older, among those that were not known to have no place.
TEST(BrainProperty, HistoriesThatOnceHungOnCaches) {
  for (std::uint64_t seed : {5033, 5379}) {
    const auto done = run(seed, 250, /*with_hangs=*/false, /*with_quotas=*/true);
    ASSERT_TRUE(done.ok()) << "seed " << seed << ": " << done.error().message;
  }
  const auto hung = run(182, 250, /*with_hangs=*/true);
  ASSERT_TRUE(hung.ok()) << hung.error().message;
  for (std::uint64_t seed : {5060, 5137}) {
    const auto learns = run(seed, 250, /*with_hangs=*/false, /*with_quotas=*/true, "expected_fit");
    ASSERT_TRUE(learns.ok()) << "seed " << seed << ": " << learns.error().message;
  }
}

// 199: a job that had room was promised it only in the next cycle. 274, 292: what a search for an
// uneven gang had not found was kept although a hold had come to be over its time, or a node
// silent. 1141, 1074: a promise that was due was not tried again when what stood in its way was
// gone; or was, and then counted as neither blocked nor started. 328: slices were promised of a
// device that a promise and a victim both held. 7221: a promise that came first could be kept
// earlier once another was made elsewhere. 7559: places within limits were found only once others
// were promised. 8105: what was due was stopped in the order of other instants that had passed.
// 9415: beside a promise there was more room once a job was stopped that would have run longer.
// 9887: there was no room any more, for lack of time, where a limit forbade to start. 31199: a job
// came back to its node on other devices, and so left whole ones.
TEST(BrainProperty, HistoriesThatOnceBrokeAPromise) {
  for (std::uint64_t seed : {199, 274, 292, 328, 1074, 1141, 7221, 7559, 8105, 9415, 9887, 31199}) {
    const auto done = run(seed, 250);
    ASSERT_TRUE(done.ok()) << "seed " << seed << ": " << done.error().message;
  }
}

}  // namespace
}  // namespace dove::sim
