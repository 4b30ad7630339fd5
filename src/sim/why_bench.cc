// why_bench fuzz SEED HISTORIES | large NODES PENDING ASKED: whether explanations are right, and
// how long they take.
//
// fuzz: random histories; in each state one waiting job is asked about and the answer checked
// (why_check.h). large: a full cluster of NODES nodes of 8 GPUs in racks, PENDING jobs of many
// shapes in a tree of queues with limits, and reservations; ASKED of them are asked about in a
// projection that follows the log, as the server has it. Before every fifth question ten jobs end,
// and others are launched in their place. Times are CPU time of one answer; alone: of a State that
// nobody has looked at before. Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "core/cycle/scheduler.h"
#include "core/explain/explain.h"
#include "core/explain/explanations.h"
#include "core/explain/other_sets.h"
#include "core/state/apply.h"
#include "core/state/books.h"
#include "model/new_cluster.h"
#include "policies/standard.h"
#include "sim/why_history.h"

namespace dove::sim {
namespace {

std::int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

int fuzz(std::uint64_t seed, std::uint64_t histories) {
  WhyFindings findings;
  for (std::uint64_t i = 0; i < histories; ++i) {
    const bool with_quotas = i % 2 == 1;
    const auto done = ask_why(policies::standard_policies(), seed + i, 250, findings, with_quotas);
    if (!done.ok()) {
      fmt::print(stderr, "seed {}: {}\n", seed + i, done.error().message);
      return 1;
    }
  }
  std::string kinds;
  for (const auto& [kind, count] : findings.by_kind) {
    kinds += fmt::format("{}\"{}\": {}", kinds.empty() ? "" : ", ", kind, count);
  }
  if (findings.wrong > 0) fmt::print(stderr, "{}\n", findings.first_wrong);
  fmt::print("{{\"states\": {}, \"wrong\": {}, \"reasons\": {{{}}}}}\n", findings.states,
             findings.wrong, kinds);
  return 0;
}

class FullCluster {
 public:
  FullCluster(int nodes, int pending) : node_count_(nodes), pending_(pending) {}

  core::State state() {
    core::begin_batch(state_, Instant{1'000'000'000}, Epoch(1));
    ClusterSettings settings = new_cluster_settings();
    settings.jobs_max = 100'000'000;
    add(ObjectApplied{settings});
    declare_queues();
    register_nodes();
    reserve_nodes();
    // Some run, the rest waits.
    for (int i = 0; i < pending_ + node_count_ * 4; ++i) submit(i);
    core::decide(state_, policies::standard_policies());
    return state_;
  }

 private:
  void add(Event event) { core::apply(state_, StampedEvent{std::move(event), {}}); }

  void declare_queues() {
    for (int i = 0; i < 15; ++i) {
      Queue queue;
      queue.name = fmt::format("q{}", i);
      if (i >= 3) {
        queue.parent = fmt::format("q{}", i % 3);
        queue.limits.gpus_milli = node_count_ * 8000 / 4;
      }
      queue.guaranteed.gpus_milli = std::int64_t{node_count_} * 8000 / 20;
      if (i % 4 == 3) queue.order = "priority_fifo";
      add(ObjectApplied{queue});
    }
  }

  void register_nodes() {
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(2);
    for (std::int32_t core = 0; core < 128; ++core) {
      inventory->numa[static_cast<std::size_t>(core / 64)].cores.insert(core);
    }
    for (int device = 0; device < 8; ++device) {
      inventory->devices.push_back(
          {"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, device / 4});
    }
    inventory->memory_bytes = std::int64_t{2} << 40;
    for (int i = 0; i < node_count_; ++i) {
      NodeDeclaration declared;
      declared.name = fmt::format("n{:05}", i);
      declared.topology = {{"block", fmt::format("b{}", i / 128)},
                           {"rack", fmt::format("r{}", i / 16)}};
      declared.drained = i % 100 == 7;
      add(ObjectApplied{declared});
      NodeRegistered node;
      node.name = declared.name;
      node.boot_id = "boot";
      node.inventory = inventory;
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i + 1)), "boot"});
    }
  }

  // A twentieth of the nodes, in ten pieces: half of them from now on, half within a day.
  void reserve_nodes() {
    for (int i = 0; i < 10; ++i) {
      Reservation reservation;
      reservation.name = fmt::format("reserved{}", i);
      const int first = node_count_ / 10 * i + 20;
      reservation.nodes = {fmt::format("n[{:05}-{:05}]", first, first + node_count_ / 200 - 1)};
      reservation.starts_at = state_.now + (i % 2 == 0 ? Span{} : seconds(3600 * (1 + i)));
      reservation.ends_at = reservation.starts_at + seconds(86'400);
      reservation.users = {"u0"};
      add(ObjectApplied{reservation});
    }
  }

  void submit(int i) {
    auto spec = std::make_shared<JobSpec>();  // each its own, as people submit
    spec->name = fmt::format("job{}", i);
    spec->user = fmt::format("u{}", random_.below(200));
    spec->queue = fmt::format("q{}", 3 + random_.below(12));
    spec->priority = static_cast<std::int32_t>(random_.below(3));
    TaskGroup group;
    const std::uint64_t kind = random_.below(100);
    group.per_task.gpus = kind < 60 ? 1 : std::int32_t{1} << random_.below(4);
    if (kind >= 90) {
      group.tasks = std::int32_t{2} << random_.below(4);
      group.per_task.gpus = 8;
    }
    group.per_task.cores = static_cast<std::int32_t>(1 + random_.below(8)) * group.per_task.gpus;
    group.per_task.memory_bytes =
        (std::int64_t{1 + static_cast<std::int64_t>(random_.below(64))} << 30);
    spec->groups = {group};
    if (kind >= 97) {
      spec->domain = "rack";
      spec->domain_required = true;
    }
    if (random_.below(50) == 0) spec->nodes_excluded = {"n[00000-00099]"};
    add(JobSubmitted{spec});
  }

  int node_count_;
  int pending_;
  core::State state_;
  Random random_{7};
};

// What decides, and what answers.
class LiveCluster {
 public:
  explicit LiveCluster(const core::State& state)
      : brain_(policies::standard_policies(), core::State(state)), seen_(state) {}

  const core::State& state() const { return seen_; }
  core::Explanations& answers() { return answers_; }

  // Ten of the jobs that hold places end, and what that allows is decided.
  void go_on() {
    const Instant now = seen_.now + seconds(1);
    brain_.begin_batch(now, Epoch(1));
    core::begin_batch(seen_, now, Epoch(1));
    std::vector<JobId> running = core::jobs_on_nodes(seen_);
    for (int i = 0; i < 10; ++i) end(*seen_.find_job(running[random_.below(running.size())]));
    for (const Decision& decision : brain_.decide()) core::apply(seen_, decision);
    answers_.forget_much();
  }

 private:
  void end(const core::Job& job) {
    if (job.phase != JobPhase::kActive) return;
    const core::Attempt attempt = job.attempts.back();
    for (const core::PlacementRecord& record : attempt.placements) {
      if (record.stage == core::PlacementStage::kEnded) continue;
      PlacementEnded ended{job.id, attempt.number, record.placement->node, {}, 0, 0};
      for (const TaskGrant& task : record.placement->tasks)
        ended.exits.push_back({task.rank, 0, 0, ""});
      brain_.apply(StampedEvent{ended, {}});
      core::apply(seen_, StampedEvent{ended, {}});
    }
  }

  core::Scheduler brain_;
  core::State seen_;
  core::Explanations answers_{seen_};
  Random random_{13};
};

template <class Ask>
std::int64_t timed(std::vector<std::int64_t>& times, Ask ask) {
  const std::int64_t begun = cpu_ns();
  const std::size_t count = ask();
  times.push_back(cpu_ns() - begun);
  return static_cast<std::int64_t>(count);
}

int large(int nodes, int pending, int asked) {
  LiveCluster cluster(FullCluster(nodes, pending).state());
  const core::Policies& policies = policies::standard_policies();
  Random random(11);
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> others_times;
  std::vector<std::int64_t> alone_times;
  std::int64_t reasons = 0;
  std::int64_t sets = 0;
  std::size_t waiting = 0;
  for (int i = 0; i < asked; ++i) {
    if (i % 5 == 0) cluster.go_on();
    std::vector<const core::Job*> all;
    for (const auto& [id, job] : cluster.state().jobs) {
      if (job.phase == JobPhase::kWaiting) all.push_back(&job);
    }
    waiting = all.size();
    const core::Job& job = *all[random.below(all.size())];
    reasons += timed(times, [&] { return cluster.answers().explain(policies, job).size(); });
    sets += timed(others_times,
                  [&] { return cluster.answers().other_sets(policies, job).sets.size(); });
    if (i % 10 > 0) continue;
    timed(alone_times, [&] { return core::explain(cluster.state(), policies, job).size(); });
  }
  const auto at = [](std::vector<std::int64_t>& all, std::size_t percent) {
    std::sort(all.begin(), all.end());
    return all[std::min(all.size() - 1, all.size() * percent / 100)] / 1000;
  };
  fmt::print(
      "{{\"waiting\": {}, \"asked\": {}, \"reasons\": {}, \"other_sets\": {}, \"p50_us\": {}, "
      "\"p99_us\": {}, \"others_p50_us\": {}, \"others_p99_us\": {}, \"alone_p50_us\": {}}}\n",
      waiting, asked, reasons, sets, at(times, 50), at(times, 99), at(others_times, 50),
      at(others_times, 99), at(alone_times, 50));
  return 0;
}

}  // namespace
}  // namespace dove::sim

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "fuzz" && argc == 4) {
    return dove::sim::fuzz(std::strtoull(argv[2], nullptr, 10),
                           std::strtoull(argv[3], nullptr, 10));
  }
  if (mode == "large" && argc == 5) {
    return dove::sim::large(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  }
  fmt::print(stderr, "usage: why_bench fuzz SEED HISTORIES | large NODES PENDING ASKED\n");
  return 2;
}
