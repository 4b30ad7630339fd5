// starve_bench [SEED]: does one job of another shape get its turn in a stream that loads the
// cluster to 95 %, and what does that cost? In virtual time, 64 nodes of 8 GPUs:
//   small_stream  1-GPU jobs, and one job of 8 whole nodes
//   large_stream  jobs of 8 whole nodes, and one of 1 GPU
// each with the order of submission kept (fifo), with whoever fits (skip), and with promises.
// Prints one line of JSON for each run.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/cycle/scheduler.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr int kNodes = 64;
constexpr std::int64_t kGpus = 8 * kNodes;
constexpr Instant kBegin{1'000'000'000'000};
constexpr Span kWarm = seconds(4 * 3600);       // then the odd one is submitted
constexpr Span kMeasured = seconds(20 * 3600);  // from then on

struct Mode {
  const char* name;
  const char* order;
  std::int32_t promises;
};

class Run {
 public:
  Run(std::uint64_t seed, bool small_stream, const Mode& mode)
      : random_(seed), small_(small_stream), mode_(mode) {}

  void print() {
    set_up();
    Instant submit_at = kBegin;
    Instant odd_at = kBegin + kWarm;
    const Instant end = kBegin + kWarm + kMeasured;
    while (state_.now < end) {
      for (const Decision& decision : brain_.decide()) {
        take(decision);
      }
      Instant next = std::min({submit_at, odd_at, end, brain_.wake_at()});
      if (!world_.empty()) next = std::min(next, world_.begin()->first);
      pass_to(std::max(next, state_.now));
      if (odd_at <= state_.now) {
        odd_ = submit(!small_);
        odd_at = kNever;
      }
      for (; submit_at <= state_.now; submit_at = submit_at + gap()) submit(small_);
      while (!world_.empty() && world_.begin()->first <= state_.now) {
        add(world_.begin()->second);
        world_.erase(world_.begin());
      }
    }
    report();
  }

 private:
  std::int64_t number(std::int64_t below) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  void add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }

  void set_up() {
    brain_.begin_batch(kBegin, Epoch(1));
    Queue queue;
    queue.name = "default";
    queue.order = mode_.order;
    queue.promises = mode_.promises;
    add(ObjectApplied{queue});
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(1);
    for (std::int32_t core = 0; core < 64; ++core) inventory->numa[0].cores.insert(core);
    for (int device = 0; device < 8; ++device) {
      inventory->devices.push_back({"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, 0});
    }
    inventory->memory_bytes = std::int64_t{1} << 40;
    for (int i = 1; i <= kNodes; ++i) {
      NodeRegistered node;
      node.name = fmt::format("n{:03}", i);
      node.boot_id = "boot";
      node.inventory = inventory;
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i)), "boot"});
    }
  }

  // Jobs run for 10 minutes to 2 hours and ask for up to three times that.
  static constexpr std::int64_t kRun_least_s = 600;
  static constexpr std::int64_t kRun_most_s = 7200;

  // The mean is what loads the cluster to 95 %.
  Span gap() {
    const std::int64_t gpus = small_ ? 1 : 64;
    const std::int64_t mean_ms =
        (kRun_least_s + kRun_most_s) / 2 * gpus * 1000 * 100 / (95 * kGpus);
    return milliseconds(1 + number(2 * mean_ms));
  }

  JobId submit(bool small) {
    auto spec = std::make_shared<JobSpec>();
    spec->user = "ann";
    const std::int64_t run_s = kRun_least_s + number(kRun_most_s - kRun_least_s);
    spec->time_limit = seconds(run_s + number(2 * run_s));
    TaskGroup& group = spec->groups.emplace_back();
    group.tasks = small ? 1 : 8;
    group.tasks_per_node = 1;
    group.per_task.gpus = small ? 1 : 8;
    group.per_task.cores = small ? 4 : 32;
    const JobId id(state_.next_job);
    run_s_[id] = run_s;
    add(JobSubmitted{std::move(spec)});
    submitted_[id] = state_.now;
    return id;
  }

  void take(const Decision& decision) {
    if (const auto* promise = std::get_if<Promise>(&decision)) {
      if (promise->job == odd_ && promised_at_.us == 0) promised_at_ = promise->start_at;
    } else if (const auto* launch = std::get_if<Launch>(&decision)) {
      if (launch->job == odd_) started_at_ = state_.now;
      start(launch->job, launch->attempt);
    } else if (const auto* first = std::get_if<Start>(&decision)) {
      begin(first->job, first->attempt, seconds(2));
    }
  }

  void start(JobId job, AttemptNumber attempt) {
    const auto& placements = state_.find_job(job)->attempts.back().placements;
    for (const auto& record : placements) {
      world_.emplace(state_.now + seconds(3),
                     PlacementPrepared{job, attempt, record.placement->node});
    }
    if (placements.size() == 1) begin(job, attempt, seconds(5));
  }

  void begin(JobId job, AttemptNumber attempt, Span after) {
    for (const auto& record : state_.find_job(job)->attempts.back().placements) {
      std::vector<TaskExit> exits;
      for (const TaskGrant& task : record.placement->tasks) exits.push_back({task.rank, 0, 0, ""});
      const NodeId node = record.placement->node;
      world_.emplace(state_.now + after, PlacementStarted{job, attempt, node});
      world_.emplace(state_.now + after + seconds(run_s_[job]),
                     PlacementEnded{job, attempt, node, std::move(exits), 0, 0});
    }
  }

  void pass_to(Instant at) {
    if (state_.now >= kBegin + kWarm) {
      used_ += state_.usage.gpus_milli * ((at - state_.now).us / 1000);
    }
    brain_.begin_batch(at, Epoch(1));
  }

  void report() {
    const Instant since = submitted_[odd_];
    const std::int64_t whole = kGpus * 1000 * (kMeasured.us / 1000);
    const auto in_s = [since](Instant at) { return at.us == 0 ? -1 : (at - since).us / 1'000'000; };
    fmt::print(
        R"({{"stream": "{}", "mode": "{}", "odd_promised_s": {}, "odd_waited_s": {}, "utilisation": {:.4f}, "left_waiting": {}}})"
        "\n",
        small_ ? "small" : "large", mode_.name, in_s(promised_at_), in_s(started_at_),
        static_cast<double>(used_) / static_cast<double>(whole), state_.usage.jobs_waiting);
  }

  Random random_;
  bool small_;
  const Mode& mode_;
  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
  std::multimap<Instant, Event> world_;
  std::map<JobId, std::int64_t> run_s_;
  std::map<JobId, Instant> submitted_;
  JobId odd_;
  Instant promised_at_;
  Instant started_at_;
  std::int64_t used_ = 0;
};

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const dove::Mode modes[] = {
      {"fifo", "strict_fifo", 0}, {"skip", "fifo", 0}, {"promises", "fifo", 4}};
  for (bool small_stream : {true, false}) {
    for (const dove::Mode& mode : modes) dove::Run(seed, small_stream, mode).print();
  }
  return 0;
}
