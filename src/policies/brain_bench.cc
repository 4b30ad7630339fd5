// brain_bench [JOBS [CORES [GROUPS]]]: CPU microseconds of the brain per event of the null-fleet
// mix: 1000 nodes of 8 GPUs, 10,000 running small jobs, 200 submissions a second in batches of 5
// ms. Jobs of more CORES than one make a deep queue; GROUPS is how many different shapes there are.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <deque>

#include "core/cycle/scheduler.h"
#include "core/state/hash.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr int kNodes = 1000;
constexpr std::int64_t kRunning = 10'000;
constexpr Span kBatch = milliseconds(5);

class Fleet {
 public:
  void set_up() {
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(2);
    for (std::int32_t core = 0; core < 64; ++core) {
      inventory->numa[static_cast<std::size_t>(core / 32)].cores.insert(core);
    }
    for (int device = 0; device < 8; ++device) {
      inventory->devices.push_back(
          {"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, device / 4});
    }
    inventory->memory_bytes = std::int64_t{1} << 40;
    brain_.begin_batch(Instant{1'000'000'000}, Epoch(1));
    for (int i = 1; i <= kNodes; ++i) {
      NodeRegistered node;
      node.name = fmt::format("null{:04}", i);
      node.boot_id = "boot";
      node.inventory = inventory;
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i)), "boot"});
    }
    decide();
    events_ = 0;
  }

  void run(std::int64_t jobs, std::int32_t cores, std::int64_t shapes) {
    for (std::int64_t submitted = 0; submitted < jobs || !ends_.empty();) {
      brain_.begin_batch(state_.now + kBatch, Epoch(1));
      if (submitted < jobs) {
        submit(cores, submitted % shapes);
        ++submitted;
      }
      for (const Launch& launch : std::exchange(started_, {})) {
        add(PlacementStarted{launch.job, launch.attempt, launch.placements[0]->node});
        PlacementEnded end{launch.job, launch.attempt, launch.placements[0]->node, {TaskExit{}}, 0,
                           0};
        ends_.push_back({state_.now + Span{kBatch.us * kRunning}, end});
      }
      for (; !ends_.empty() && ends_.front().first <= state_.now; ends_.pop_front()) {
        add(ends_.front().second);
      }
      decide();
    }
  }

  std::int64_t events() const { return events_; }
  const core::State& state() const { return state_; }

 private:
  void add(Event event) {
    ++events_;
    brain_.apply(StampedEvent{std::move(event), {}});
  }

  void submit(std::int32_t cores, std::int64_t shape) {
    auto spec = std::make_shared<JobSpec>();
    spec->user = "ann";
    spec->time_limit = seconds(3600);
    spec->groups.resize(1);
    spec->groups[0].per_task.cores = cores;
    spec->groups[0].per_task.memory_bytes = shape << 20;
    add(JobSubmitted{std::move(spec)});
  }

  void decide() {
    for (Decision& decision : brain_.decide()) {
      ++events_;
      if (auto* launch = std::get_if<Launch>(&decision)) started_.push_back(std::move(*launch));
    }
  }

  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
  std::vector<Launch> started_;
  std::deque<std::pair<Instant, PlacementEnded>> ends_;
  std::int64_t events_ = 0;
};

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  dove::Fleet fleet;
  fleet.set_up();
  const std::int64_t jobs = argc > 1 ? std::atoll(argv[1]) : 100'000;
  const std::int32_t cores = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::int64_t shapes = argc > 3 ? std::atoll(argv[3]) : 1;
  const std::clock_t begin = std::clock();
  fleet.run(jobs, cores, shapes);
  const auto us = static_cast<long long>(std::clock() - begin) * 1'000'000 / CLOCKS_PER_SEC;
  const std::clock_t hashing = std::clock();
  const std::uint64_t hash = dove::core::state_hash(fleet.state());
  const auto hash_us = static_cast<long long>(std::clock() - hashing) * 1'000'000 / CLOCKS_PER_SEC;
  fmt::print("{} events and decisions, {} us of CPU, {} ns each; state hash {:016x} in {} us\n",
             fleet.events(), us, us * 1000 / fleet.events(), hash, hash_us);
  return 0;
}
