// Two clients for the last GPU of a node that a Slurm schedules too, again and again: one submits
// to Dovetail, the other to Slurm, while answers between the adapter and the controller are lost.
// Each round has one winner, the other one hears who has the device, and gets it afterwards.
//
// Real: the adapter, what core makes of its reports, and decide. Slurm and the agent are simulated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/random.h"
#include "core/executors/sync.h"
#include "core/explain/explain.h"
#include "core/state/executors/placeholders.h"
#include "policies/standard.h"
#include "sim/plain_brain.h"
#include "sim/seeds_for_test.h"
#include "slurm/adapter.h"
#include "slurm/fake_slurm_for_test.h"
#include "telemetry/log.h"

namespace dove::sim {
namespace {

constexpr int kLast = 0;  // the device; Slurm's users hold the others for ever
constexpr int kStepsMax = 400;
constexpr const char* kUsersJob = "train";

core::Observation observed(const slurm::SyncRequest& request) {
  core::Observation said;
  said.complete = request.complete;
  for (const slurm::JobSeen& job : request.foreign) {
    for (const slurm::NodeAllocation& held : job.allocations) {
      core::SaidAllocation& one = said.allocations.emplace_back();
      one.node = held.node;
      one.allocation.id = std::to_string(job.id);
      one.allocation.user = job.user;
      if (job.ends_s > 0) one.allocation.ends_by = Instant{job.ends_s * 1'000'000};
      one.allocation.devices.assign(held.devices.begin(), held.devices.end());
    }
  }
  for (const slurm::PlaceholderReport& report : request.placeholders) {
    using enum slurm::PlaceholderState;
    const auto stage = report.state == kAsked       ? PlaceholderStage::kAsked
                       : report.state == kConfirmed ? PlaceholderStage::kConfirmed
                       : report.state == kRefused   ? PlaceholderStage::kRefused
                                                    : PlaceholderStage::kGone;
    said.placeholders.push_back({JobId(static_cast<std::uint64_t>(report.key.job)),
                                 static_cast<AttemptNumber>(report.key.attempt),
                                 report.key.node,
                                 std::to_string(report.id),
                                 stage,
                                 report.why,
                                 {report.devices.begin(), report.devices.end()}});
  }
  return said;
}

class Race {
 public:
  explicit Race(std::uint64_t seed) : random_(seed), brain_(policies::standard_policies()) {
    brain_.begin(Instant{slurm::kStart_us});
    brain_.add(ControllerStarted{});
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(1);
    for (std::int32_t core = 0; core < 8; ++core) inventory->numa[0].cores.insert(core);
    inventory->devices.resize(4);
    inventory->memory_bytes = std::int64_t{64} << 30;
    NodeRegistered node;
    node.name = "n1";
    node.boot_id = "boot";
    node.inventory = std::move(inventory);
    brain_.add(node);
    brain_.add(NodeConnected{NodeId(1), "boot"});
    brain_.add(ObjectApplied{executor_});
    for (const int device : {1, 2, 3}) slurm_.add("standing", {device});
    start_adapter();
    for (int i = 0; i < 4; ++i) cycle();
  }

  // True: our client won. Fails the test when the round has no winner, two, or one unknown.
  bool round() {
    ours_ = theirs_ = Client{};
    ours_told_ = theirs_told_ = false;
    winner_.reset();
    const std::uint64_t first = random_.below(2);
    for (int step = 0; step < kStepsMax; ++step) {
      if (step >= 1 && ours_.state == Client::kIdle && (first == 0 || one_in(2))) submit_ours();
      if (step >= 1 && theirs_.state == Client::kIdle && (first == 1 || one_in(2))) {
        theirs_.state = Client::kWaiting;
      }
      serve_theirs();
      cycle();
      act();
      look();
      if (testing::Test::HasFailure()) return false;
      if (ours_.state == Client::kDone && theirs_.state == Client::kDone && is_quiet()) break;
    }
    EXPECT_EQ(ours_.state, Client::kDone) << "ours never ended";
    EXPECT_EQ(theirs_.state, Client::kDone) << "theirs never ended";
    EXPECT_TRUE(winner_ == std::optional(true) ? theirs_told_ : ours_told_)
        << "the loser was not told who has the device";
    return winner_.value_or(false);
  }

 private:
  struct Client {
    enum State { kIdle, kWaiting, kRunning, kDone } state = kIdle;
    std::int64_t id = 0;
    int left = 0;  // steps until it ends
  };

  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }

  void start_adapter() {
    slurm::AdapterOptions options;
    options.incarnation = fmt::format("adapter-{}", ++adapters_);
    adapter_.emplace(
        slurm_, [this](const slurm::SyncRequest& request) { return sync(request); },
        [this] { return brain_.state().now.us; }, options);
  }

  // The request or its answer is lost now and then.
  Result<slurm::SyncAnswer> sync(const slurm::SyncRequest& request) {
    const Error lost{ErrorKind::kUnavailable, "connection_broken", "", ""};
    if (one_in(8)) return lost;
    if (core::is_of_this_epoch(brain_.state(), static_cast<std::uint64_t>(request.seen))) {
      for (Event& event : core::news(brain_.state(), executor_, observed(request))) {
        brain_.add(std::move(event));
      }
      decide();
    }
    if (one_in(8)) return lost;
    return answer();
  }

  slurm::SyncAnswer answer() const {
    const core::Wanted wanted = core::wanted(brain_.state(), executor_.name);
    slurm::SyncAnswer out;
    out.version = static_cast<std::int64_t>(wanted.version);
    for (const core::WantedPlaceholder& one : wanted.placeholders) {
      slurm::Wanted& each = out.wanted.emplace_back();
      each.key = {static_cast<std::int64_t>(one.job.value), one.attempt, one.node->name};
      for (const std::int32_t device : core::devices_of(*one.placement)) {
        each.devices.push_back(device);
      }
    }
    return out;
  }

  void cycle() {
    if (one_in(50)) start_adapter();  // it was killed
    adapter_->cycle();
    brain_.begin(brain_.state().now + seconds(1));
    brain_.add(TimeReached{});
    decide();
  }

  void decide() {
    while (!brain_.decide().empty()) {
    }
  }

  void submit_ours() {
    auto spec = std::make_shared<JobSpec>();
    spec->user = "ann";
    spec->groups.resize(1);
    spec->groups[0].per_task.gpus = 1;
    spec->groups[0].per_task.cores = 1;
    ours_ = {Client::kWaiting, static_cast<std::int64_t>(brain_.state().next_job), 0};
    brain_.add(JobSubmitted{std::move(spec)});
    decide();
  }

  // The winner keeps the device until the other one has asked for it, and heard who has it.
  static bool may_end(Client& client, const Client& other, bool other_told) {
    if (other.state != Client::kDone && !other_told) return false;
    return --client.left <= 0;
  }

  // Slurm gives its user the device as soon as nobody holds it there.
  void serve_theirs() {
    if (theirs_.state == Client::kRunning && may_end(theirs_, ours_, ours_told_)) {
      (void)slurm_.release(theirs_.id);
      theirs_.state = Client::kDone;
    }
    if (theirs_.state != Client::kWaiting) return;
    const slurm::JobSeen* holder = slurm_.holder(kLast);
    if (holder == nullptr) {
      slurm::JobSeen& job = slurm_.add(kUsersJob, {kLast});
      job.ends_s = brain_.state().now.us / 1'000'000 + 3600;  // the first device to become free
      theirs_ = {Client::kRunning, job.id, 3 + static_cast<int>(random_.below(12))};
      if (!winner_) winner_ = false;
    } else if (slurm::read_placeholder_name(holder->name, "dove")) {
      theirs_told_ = true;  // squeue names our job
    }
  }

  const core::Job* our_job() const {
    return brain_.state().find_job(JobId(static_cast<std::uint64_t>(ours_.id)));
  }

  // The agent: prepares what was launched, runs what was started, ends what was stopped.
  void act() {
    if (ours_.state != Client::kWaiting && ours_.state != Client::kRunning) return;
    const core::Job* job = our_job();
    if (job == nullptr || job->attempts.empty()) return;
    const core::Attempt& attempt = job->attempts.back();
    const JobId id = job->id;
    const AttemptNumber number = attempt.number;
    if (attempt.stage == Stage::kEnded) return;
    if (attempt.stop_reason != StopReason::kNone) {
      brain_.add(PlacementEnded{id, number, NodeId(1), {}});
    } else if (attempt.stage == Stage::kPreparing || attempt.stage == Stage::kAllocated) {
      brain_.add(PlacementPrepared{id, number, NodeId(1)});
    } else if (attempt.stage == Stage::kStarting) {
      brain_.add(PlacementStarted{id, number, NodeId(1)});
      ours_.state = Client::kRunning;
      ours_.left = 3 + static_cast<int>(random_.below(12));
      if (!winner_) winner_ = true;
    } else if (attempt.stage == Stage::kRunning && may_end(ours_, theirs_, theirs_told_)) {
      brain_.add(PlacementEnded{id, number, NodeId(1), {TaskExit{}}});
      ours_.state = Client::kDone;
    }
    decide();
  }

  void look() {
    if (ours_.state == Client::kRunning) {
      ASSERT_NE(theirs_.state, Client::kRunning) << "the device was given twice";
      const slurm::JobSeen* holder = slurm_.holder(kLast);
      ASSERT_TRUE(holder != nullptr && slurm::is_placeholder(*holder, "dove"))
          << "a task runs, and Slurm would give its device to others";
    }
    if (ours_.state != Client::kWaiting || theirs_.state != Client::kRunning || ours_told_) return;
    const core::Job* job = our_job();
    if (job == nullptr || job->phase != JobPhase::kWaiting) return;
    const std::string wanted = fmt::format("slurm job {} of ada", theirs_.id);
    for (const Reason& reason : core::explain(brain_.state(), brain_.policies(), job->id)) {
      if (reason.kind == ReasonKind::kForeign && reason.subject == wanted) ours_told_ = true;
    }
  }

  bool is_quiet() const {
    return slurm_.holder(kLast) == nullptr && brain_.state().placeholders.empty();
  }

  Random random_;
  slurm::FakeSlurm slurm_;
  PlainBrain brain_;
  const Executor executor_{"slurm", "", {"n1"}, true, {}};
  std::optional<slurm::Adapter> adapter_;
  int adapters_ = 0;
  Client ours_;
  Client theirs_;
  bool ours_told_ = false;
  bool theirs_told_ = false;
  std::optional<bool> winner_;  // true: ours
};

// The adapter's lines are not what is tested.
void drop_line(telemetry::Level, std::string_view, std::initializer_list<telemetry::Field>) {}

TEST(LastGpu, EachRoundHasOneWinnerAndTheOtherHearsWho) {
  telemetry::set_sink(drop_line);
  const Seeds seeds = seeds_for_test(100);
  constexpr int kRounds = 20;
  std::uint64_t ours = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Race race(seed);
    for (int i = 0; i < kRounds; ++i) {
      SCOPED_TRACE(testing::Message() << "round " << i);
      ours += race.round() ? 1 : 0;
      if (testing::Test::HasFailure()) return;
    }
  }
  const std::uint64_t rounds = seeds.count * kRounds;
  fmt::print("{} rounds: {} won by ours, {} by Slurm's\n", rounds, ours, rounds - ours);
  EXPECT_GT(ours, 0u);
  EXPECT_LT(ours, rounds);
}

}  // namespace
}  // namespace dove::sim
