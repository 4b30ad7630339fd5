// A protected job never starts later than it was promised, as long as the world keeps its word:
// orders are answered in time, what is stopped ends within its grace, no node is lost and nobody
// takes a job back. A failure prints its seed; the same seed gives the same history.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "codec/words.h"
#include "core/explain/explain.h"
#include "policies/standard.h"
#include "sim/checked_brain.h"
#include "sim/seeds_for_test.h"

namespace dove::sim {
namespace {

constexpr int kNodes = 5;

class KeptWord {
 public:
  explicit KeptWord(std::uint64_t seed) : random_(seed), brain_(policies::standard_policies()) {}

  // Ends when all jobs have.
  Result<void> run(int jobs) {
    brain_.begin(Instant{1'000'000'000});
    set_up();
    for (int left = jobs;;) {
      TRY(cycle());
      if (left > 0 && submit_at_ <= state().now) {
        for (int i = 1 + number(3); i > 0 && left > 0; --i, --left) submit();
        submit_at_ = state().now + seconds(number(120));
        continue;
      }
      const Instant submission = left > 0 ? submit_at_ : kNever;
      const Instant event = world_.empty() ? kNever : world_.begin()->first;
      const Instant next = std::min({submission, event, brain_.wake_at()});
      if (next == kNever) break;
      brain_.begin(std::max(next, state().now));
      brain_.add(TimeReached{});
      while (!world_.empty() && world_.begin()->first <= state().now) {
        const Event due = world_.begin()->second;
        world_.erase(world_.begin());
        if (is_current(due)) brain_.add(due);
      }
    }
    TRY(check_left());
    return brain_.check_fold();
  }

  int promises() const { return promises_; }
  int backfilled() const { return backfilled_; }

 private:
  const core::State& state() const { return brain_.state(); }
  std::int32_t number(std::int32_t below) {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  bool one_in(std::int32_t n) { return number(n) == 0; }
  static Error wrong(std::string what) {
    return Error{ErrorKind::kInternal, "property", std::move(what), ""};
  }

  // Whoever still waits could not be held by an empty cluster.
  Result<void> check_left() {
    for (const auto& [id, job] : state().jobs) {
      if (job.phase != JobPhase::kWaiting) continue;
      const auto reasons = core::explain(state(), brain_.policies(), id);
      const bool never = std::any_of(reasons.begin(), reasons.end(), [](const Reason& reason) {
        return reason.kind == ReasonKind::kNeverFits;
      });
      std::string kinds;
      for (const Reason& reason : reasons) kinds += fmt::format(" {}", codec::word(reason.kind));
      if (!never) return wrong(fmt::format("job {} is left waiting:{}", id.value, kinds));
    }
    return {};
  }

  void set_up() {
    ClusterSettings settings;
    settings.effect_deadline = seconds(10);
    settings.preemption = false;
    settings.ended_jobs_kept = seconds(1);
    brain_.add(ObjectApplied{settings});
    Queue queue;
    queue.name = "other";
    queue.promises = 2;
    brain_.add(ObjectApplied{queue});
    for (int i = 1; i <= kNodes; ++i) {
      auto inventory = std::make_shared<Inventory>();
      inventory->numa.resize(2);
      for (std::int32_t core = 0; core < 8; ++core) {
        inventory->numa[static_cast<std::size_t>(core / 4)].cores.insert(core);
      }
      for (int device = 0; device < 4; ++device) {
        inventory->devices.push_back(
            {"gpu", "nvidia", "H200", "", std::int64_t{80} << 30, device / 2});
      }
      inventory->memory_bytes = std::int64_t{16} << 30;
      NodeRegistered node;
      node.name = fmt::format("n{}", i);
      node.boot_id = "boot";
      node.inventory = inventory;
      brain_.add(node);
      brain_.add(NodeConnected{NodeId(static_cast<std::uint32_t>(i)), "boot"});
    }
    Reservation reservation;
    reservation.name = "course";
    reservation.nodes = {"n1"};
    reservation.starts_at = state().now + seconds(1500);
    reservation.ends_at = state().now + seconds(3000);
    reservation.users = {"cleo"};
    brain_.add(ObjectApplied{reservation});
  }

  void submit() {
    auto spec = std::make_shared<JobSpec>();
    spec->user = one_in(2) ? "ann" : one_in(3) ? "cleo" : "bob";
    spec->queue = one_in(3) ? "other" : "default";
    TaskGroup group;
    group.tasks = one_in(3) ? 1 + number(6) : 1;
    if (one_in(3)) group.tasks_per_node = 1 + number(2);
    group.per_task.cores = number(3);
    if (one_in(2)) group.per_task.gpus = 1 + number(4);
    if (group.per_task.gpus == 0 && one_in(2)) group.per_task.share_milli = 100 + 100 * number(8);
    if (one_in(3)) group.per_task.memory_bytes = std::int64_t{1 + number(6)} << 30;
    if (one_in(10)) group.per_node.cores = 1;
    spec->groups.push_back(group);
    if (one_in(8)) spec->groups.push_back(group);
    spec->exclusive = one_in(8);
    spec->kill_grace = seconds(1 + number(20));
    // Few are without a limit: what they hold, they hold for as long as they like.
    if (!one_in(12)) spec->time_limit = seconds(20 + number(600));
    brain_.add(JobSubmitted{spec});
  }

  Result<void> cycle() {
    TRY_ASSIGN(const auto decisions, brain_.decide());
    for (const Decision& decision : decisions) {
      if (const auto* promise = std::get_if<Promise>(&decision)) {
        TRY(account(*promise));
      } else if (const auto* launch = std::get_if<Launch>(&decision)) {
        TRY(account(*launch));
      } else if (const auto* stop = std::get_if<Stop>(&decision)) {
        end(*stop);
      } else if (const auto* start = std::get_if<Start>(&decision)) {
        start_up(start->job, start->attempt);
      } else if (const auto* withdraw = std::get_if<Withdraw>(&decision)) {
        return wrong(fmt::format("the promise to job {} was withdrawn", withdraw->job.value));
      }
    }
    for (const auto& [id, promise] : state().promises) {
      if (promise.start_at > state().now) continue;
      return wrong(fmt::format("job {} was promised a start and has none", id.value));
    }
    return {};
  }

  Result<void> account(const Promise& promise) {
    ++promises_;
    const auto [at, added] = promised_.try_emplace(promise.job, promise.start_at);
    if (!added && promise.start_at > at->second) {
      return wrong(fmt::format("the promise to job {} moved to later", promise.job.value));
    }
    at->second = promise.start_at;
    return {};
  }

  Result<void> account(const Launch& launch) {
    const auto promised = promised_.find(launch.job);
    if (promised != promised_.end() && promised->second < state().now) {
      return wrong(fmt::format("job {} starts later than promised", launch.job.value));
    }
    if (promised == promised_.end() && !state().promises.empty()) ++backfilled_;
    const bool alone = launch.placements.size() == 1;
    const Span answer = milliseconds(number(9'000));
    for (const Placement& placement : launch.placements) {
      world_.emplace(state().now + answer,
                     PlacementPrepared{launch.job, launch.attempt, placement.node});
    }
    if (alone) start_up(launch.job, launch.attempt, answer);
    return {};
  }

  // Starts within the deadline for it, and runs for some part of its limit or longer than that.
  void start_up(JobId job, AttemptNumber attempt, Span prepared = {}) {
    const core::Job& it = *state().find_job(job);
    const Span starting{prepared.us + milliseconds(number(9'000)).us};
    const Span limit = it.spec->time_limit;
    const std::int64_t most_s = limit.us > 0 ? limit.us / 1'000'000 * 6 / 5 : 900;
    const Span runs = seconds(1 + number(static_cast<std::int32_t>(most_s)));
    for (const core::PlacementRecord& record : it.attempts.back().placements) {
      const NodeId node = record.placement->node;
      world_.emplace(state().now + starting, PlacementStarted{job, attempt, node});
      world_.emplace(state().now + starting + runs,
                     PlacementEnded{job, attempt, node, exits_of(record.placement, 0), 0, 0});
    }
  }

  void end(const Stop& stop) {
    const core::Job& it = *state().find_job(stop.job);
    const Span grace{it.spec->kill_grace.us - milliseconds(number(900)).us};
    for (const core::PlacementRecord& record : it.attempts.back().placements) {
      world_.emplace(state().now + grace,
                     PlacementEnded{stop.job, stop.attempt, record.placement->node,
                                    exits_of(record.placement, 15), 0, 0});
    }
  }

  static std::vector<TaskExit> exits_of(const Placement& placement, std::int32_t signal) {
    std::vector<TaskExit> exits;
    for (const TaskGrant& task : placement.tasks) exits.push_back({task.rank, 0, signal, ""});
    return exits;
  }

  // A start that comes after the end, or a second end, is not told.
  bool is_current(const Event& event) const {
    const auto* started = std::get_if<PlacementStarted>(&event);
    if (started == nullptr) return true;
    const core::Job* job = state().find_job(started->job);
    return job != nullptr && job->attempts.back().stage != Stage::kStopping;
  }

  Random random_;
  CheckedBrain brain_;
  Instant submit_at_{1'000'000'000};
  std::multimap<Instant, Event> world_;
  std::map<JobId, Instant> promised_;
  int promises_ = 0;
  int backfilled_ = 0;
};

TEST(BackfillProperty, NoPromiseIsBrokenByWhatWasStartedLater) {
  const auto [first, count, given] = seeds_for_test(15);
  int promises = 0;
  int backfilled = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    KeptWord history(seed);
    const auto done = history.run(80);
    ASSERT_TRUE(done.ok()) << "DOVE_SEED=" << seed << ": " << done.error().message;
    promises += history.promises();
    backfilled += history.backfilled();
  }
  EXPECT_GT(promises, 0);
  EXPECT_GT(backfilled, 0);
}

}  // namespace
}  // namespace dove::sim
