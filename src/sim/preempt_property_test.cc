// Preemption on random clusters and queues: who may be stopped, that it helps, and that it ends.
// A failure prints its seed; the same seed gives the same history.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "core/admit/admit.h"
#include "policies/standard.h"
#include "sim/instant_cluster.h"
#include "sim/scenario_words.h"
#include "sim/seeds_for_test.h"

namespace dove::sim {
namespace {

constexpr int kPreemptions_of_one_max = 12;

Error wrong(std::string what) {
  return Error{ErrorKind::kInternal, "property", std::move(what), ""};
}

const Names kNumbers{[](JobId id) { return fmt::format("{}", id.value); },
                     [](NodeId id) { return fmt::format("n{}", id.value); }};

// A random history, and an account of who was stopped for whom.
class History {
 public:
  // `tells`: prints what is decided.
  History(std::uint64_t seed, bool tells)
      : random_(seed), cluster_(policies::standard_policies()), tells_(tells) {}

  Result<void> run() {
    set_up();
    for (int i = 0; i < 12; ++i) {
      TRY(settle());
      for (std::int32_t k = number(3); k > 0; --k) submit();
      if (one_in(4)) end_one();
      TRY(settle());
      cluster_.pass(seconds(1 + number(90)));
    }
    // Nothing comes from outside any more. Pauses and slices end; then only rotation may go on.
    TRY(let_time_pass());
    quiet_ = true;
    TRY(let_time_pass());
    return cluster_.brain().check_fold();
  }

  std::int64_t preemptions() const { return preemptions_; }

 private:
  const core::State& state() const { return cluster_.state(); }
  std::int32_t number(std::int32_t below) {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  bool one_in(std::int32_t n) { return number(n) == 0; }

  Result<void> let_time_pass() {
    for (int i = 0; i < 40; ++i) {
      TRY(settle());
      if (!cluster_.wake()) return {};
    }
    return {};
  }

  void set_up() {
    const int nodes = 1 + number(4);
    for (int i = 1; i <= nodes; ++i) cluster_.add_node(fmt::format("n{}", i), 4, 8);
    for (const char* name : {"red", "blue"}) {
      Queue queue;
      queue.name = name;
      queue.weight = 1 + number(2);
      queue.weights.gpus = number(3);
      queue.guaranteed.gpus_milli = 1000 * number(4);
      queue.band = one_in(4) ? 1 : 0;
      cluster_.brain().add(ObjectApplied{queue});
    }
  }

  void submit() {
    static const char* const queues[] = {"default", "red", "blue"};
    auto spec = std::make_shared<JobSpec>();
    spec->user = one_in(2) ? "ann" : "bob";
    spec->queue = queues[number(3)];
    spec->priority = number(3);
    spec->groups.resize(1);
    TaskGroup& group = spec->groups[0];
    group.tasks = 1 + number(3);
    if (one_in(2)) group.nodes_min = group.nodes_max = 1 + number(group.tasks);
    group.per_task.gpus = 1 + number(2);
    group.per_task.cores = number(2);
    spec->preempt = static_cast<Preempt>(number(3));
    if (one_in(3)) spec->slice_min = seconds(20 + number(100));
    spec->kill_grace = seconds(1 + number(5));
    spec->exclusive = one_in(8);
    if (core::admit(state(), *spec).ok()) cluster_.brain().add(JobSubmitted{spec});
  }

  void end_one() {
    for (const auto& [id, job] : state().jobs) {
      if (job.phase == JobPhase::kActive && one_in(3)) return cluster_.end(id);
    }
  }

  Result<void> settle() {
    TRY(cluster_.settle([this](const Decision& decision) { return account(decision); }));
    // Victims end at once here, so whoever they were stopped for must have been started.
    for (const auto& [id, victims] : served_) {
      const core::Job* job = state().find_job(id);
      if (job == nullptr || job->phase != JobPhase::kWaiting) continue;
      return wrong(fmt::format("{} jobs were stopped for job {}, which is not started",
                               victims.size(), id.value));
    }
    served_.clear();
    return count_stops();
  }

  Result<void> account(const Decision& decision) {
    if (tells_) fmt::print("{}s {}\n", state().now.us / 1'000'000, text_of(decision, kNumbers));
    if (const auto* launch = std::get_if<Launch>(&decision)) served_.erase(launch->job);
    const auto* stop = std::get_if<Stop>(&decision);
    if (stop == nullptr || stop->reason != StopReason::kPreempted) return {};
    ++preemptions_;
    const core::Job& victim = *state().find_job(stop->job);
    const JobSpec& spec = *victim.spec;
    if (spec.preempt == Preempt::kNone) return wrong("a victim whose owner did not allow it");
    const Instant started = victim.attempts.back().started_at;
    if (spec.slice_min.us > 0 && started + spec.slice_min > state().now) {
      return wrong("a slice was cut short");
    }
    served_[stop->beneficiary].insert(stop->job);
    stopped_for_[stop->beneficiary].insert(stop->job);
    if (stop->purpose == Purpose::kSlice) rotated_in_.insert(stop->beneficiary);
    return {};
  }

  // Rotation goes on for ever, at the cost of a slice each time. Whoever is not stopped for it (or
  // with those whose turn is over) is stopped a few times at most, and never when nothing comes
  // from outside.
  Result<void> count_stops() {
    for (const auto& [beneficiary, victims] : stopped_for_) {
      if (rotated_in_.contains(beneficiary)) continue;
      for (JobId victim : victims) {
        if (quiet_ && rotated_in_.empty()) {
          return wrong(fmt::format("job {} is stopped although nothing changed", victim.value));
        }
        if (!quiet_ && ++count_[victim] > kPreemptions_of_one_max) {
          return wrong(fmt::format("job {} is stopped again and again", victim.value));
        }
      }
    }
    stopped_for_.clear();
    return {};
  }

  Random random_;
  InstantCluster cluster_;
  std::map<JobId, std::set<JobId>> served_;
  std::map<JobId, std::set<JobId>> stopped_for_;  // since the last settle
  std::set<JobId> rotated_in_;                    // who ever rotated in
  std::map<JobId, int> count_;
  std::int64_t preemptions_ = 0;
  bool quiet_ = false;
  bool tells_;
};

TEST(PreemptProperty, ItIsAllowedItHelpsAndItEnds) {
  const auto [first, count, given] = seeds_for_test(300);
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    History history(seed, given && count == 1);
    const auto done = history.run();
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
    preemptions += history.preemptions();
  }
  if (count > 100) {
    EXPECT_GT(preemptions, static_cast<std::int64_t>(count) / 2);
  }
}

struct Slice {
  JobId job;
  Span length;
};

// Two jobs of seven days on one node, slices of an hour: NVIDIA's "min time slice".
TEST(PreemptRotation, TwoJobsOfSevenDaysAlternate) {
  constexpr Span kHour = seconds(3600);
  constexpr Span kWeek = seconds(7 * 24 * 3600);
  InstantCluster cluster(policies::standard_policies());
  cluster.add_node("n1", 8, 8);
  auto spec = std::make_shared<JobSpec>();
  spec->groups.resize(1);
  spec->groups[0].per_task.gpus = 8;
  spec->preempt = Preempt::kCheckpoint;
  spec->slice_min = kHour;
  spec->time_limit = kWeek;
  cluster.brain().add(JobSubmitted{spec});
  cluster.brain().add(JobSubmitted{spec});
  std::vector<Slice> slices;
  const auto see = [&](const Decision& decision) -> Result<void> {
    const auto* stop = std::get_if<Stop>(&decision);
    if (stop == nullptr) return {};
    const core::Attempt& attempt = cluster.state().find_job(stop->job)->attempts.back();
    slices.push_back({stop->job, cluster.state().now - attempt.started_at});
    return {};
  };
  for (int i = 0; i < 1000; ++i) {
    const auto done = cluster.settle(see);
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (cluster.state().usage.jobs_running == 0 || !cluster.wake()) break;
  }
  std::map<JobId, Span> total;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_GE(slices[i].length, kHour);
    total[slices[i].job] = total[slices[i].job] + slices[i].length;
    if (i > 0) {
      EXPECT_NE(slices[i].job, slices[i - 1].job);
    }
  }
  EXPECT_EQ(total, (std::map<JobId, Span>{{JobId(1), kWeek}, {JobId(2), kWeek}}));
}

}  // namespace
}  // namespace dove::sim
