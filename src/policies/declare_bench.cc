// declare_bench JOBS QUEUES: CPU time of declaring QUEUES queues while JOBS jobs wait in others.
//
// The queues are new, then get other weights, then limits by model; each is declared by an event of
// its own, as a file with all of them is. Prints one JSON object: made_us, changed_us, limited_us,
// for all queues together, and decided_us, for the cycle behind them.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "core/cycle/scheduler.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr int kUsers = 200;
constexpr int kOrganisations = 10;

std::int64_t cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1'000;
}

class Cluster {
 public:
  explicit Cluster(int jobs) {
    brain_.begin_batch(Instant{1'000'000'000}, Epoch(1));
    ClusterSettings settings;
    settings.jobs_max = 100'000'000;
    settings.order = "fair_share";
    add(ObjectApplied{settings});
    for (int i = 0; i < kOrganisations; ++i) {
      Queue queue;
      queue.name = fmt::format("org{}", i);
      add(ObjectApplied{queue});
    }
    for (int i = 0; i < jobs; ++i) {
      auto spec = std::make_shared<JobSpec>();
      spec->user = fmt::format("u{}", i % kUsers);
      spec->queue = "default";
      spec->groups.resize(1);
      spec->groups[0].per_task.gpus = 1;
      add(JobSubmitted{spec});
    }
    decide();
  }

  std::int64_t declare(const std::vector<Queue>& queues) {
    brain_.begin_batch(state_.now + seconds(60), state_.epoch);
    const std::int64_t begun = cpu_us();
    for (const Queue& queue : queues) add(ObjectApplied{queue});
    return cpu_us() - begun;
  }

  std::int64_t decide() {
    const std::int64_t begun = cpu_us();
    for (const Decision& each : brain_.decide()) {
      static_cast<void>(each);
    }
    return cpu_us() - begun;
  }

 private:
  void add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }

  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
};

int run(int jobs, int count) {
  Cluster cluster(jobs);
  std::vector<Queue> queues;
  for (int i = 0; i < count; ++i) {
    Queue queue;
    queue.name = fmt::format("team{}", i);
    queue.parent = fmt::format("org{}", i % kOrganisations);
    queues.push_back(queue);
  }
  const std::int64_t made_us = cluster.declare(queues);
  for (Queue& queue : queues) queue.weight = 2;
  const std::int64_t changed_us = cluster.declare(queues);
  for (Queue& queue : queues) queue.limits.gpus_by_model = {{"h200", 8000}};
  const std::int64_t limited_us = cluster.declare(queues);
  fmt::print(R"({{"made_us":{},"changed_us":{},"limited_us":{},"decided_us":{}}})"
             "\n",
             made_us, changed_us, limited_us, cluster.decide());
  return 0;
}

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: declare_bench JOBS QUEUES\n");
    return 2;
  }
  return dove::run(std::atoi(argv[1]), std::atoi(argv[2]));
}
