// dove sim replay muri: completion times of gangs under our scheduler or a published one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "programs/commands.h"
#include "programs/replays/replay_options.h"
#include "sim/published/gang_replay.h"

namespace dove::programs {
namespace {

constexpr const char* kName = "sim replay muri";

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = kName;
  spec.summary = "Run a trace of gangs under a scheduler and print completion times";
  spec.group = "Programs";
  spec.description = fmt::format(
      "Muri's experiment (SIGCOMM'22): gangs on equal nodes, where each running job loses its\n"
      "switching overhead at every arrival and end.\n"
      "\n"
      "Policies: default is the live scheduler under the settings of a new cluster; every job may\n"
      "be stopped (preempt: checkpoint). plain is the same with FIFO and best fit. Published\n"
      "schedulers, which sort and place all jobs again at every event:\n"
      "{}.\n"
      "srtf and srsf know how long jobs take; the others do not.",
      order_names());
  spec.options = {{"trace", 0, "FILE",
                   "the jobs: num_gpu,submit_time,iterations,model_name,iteration_time", false},
                  {"overheads", 0, "FILE",
                   "seconds lost at a switch: num_gpu, then a column for each model", false},
                  {"policy", 0, "NAME", "default, plain, or a published scheduler", false},
                  {"nodes", 0, "COUNT", "nodes (8)", false},
                  {"gpus-per-node", 0, "COUNT", "GPUs of each (8)", false},
                  {"output", 'o', "FORMAT", "text or json", false}};
  return spec;
}

struct Figures {
  double average_s = 0;
  double makespan_s = 0;
  double p99_s = 0;
};

Figures figures_of(const std::vector<Span>& completion, Instant last_end) {
  std::vector<Span> ascending = completion;
  std::sort(ascending.begin(), ascending.end());
  double sum_us = 0;
  for (const Span it : ascending) sum_us += static_cast<double>(it.us);
  const std::size_t p99 = ascending.size() * 99 / 100;
  return {sum_us / static_cast<double>(ascending.size()) / 1e6,
          static_cast<double>(last_end.us) / 1e6, static_cast<double>(ascending[p99].us) / 1e6};
}

struct Ran {
  Figures figures;
  std::int64_t starts = 0;
};

Result<Ran> run(const cli::Invocation& invocation, const std::vector<sim::GangJob>& jobs,
                sim::GangCluster cluster) {
  if (is_live(invocation)) {
    TRY_ASSIGN(const sim::LiveGangs result,
               sim::replay_live_gangs(jobs, cluster.nodes, cluster.gpus_per_node,
                                      live_scheduler(invocation)));
    return Ran{figures_of(result.completion, result.last_end), result.starts};
  }
  TRY_ASSIGN(const sim::NamedOrder named, order_option(invocation));
  // As published: Muri's simulator only counts GPUs under Tiresias.
  if (named.name == "tiresias-l") cluster.packing = sim::Packing::kSum;
  TRY_ASSIGN(const sim::GangResult result, sim::replay_gangs(jobs, cluster, *named.order));
  return Ran{figures_of(result.completion, result.last_end), result.starts};
}

Result<int> replay(const cli::Invocation& invocation) {
  TRY(require_options(invocation, {"trace", "overheads", "policy"}));
  TRY_ASSIGN(const bool json, json_option(invocation));
  sim::GangCluster cluster;
  TRY_ASSIGN(cluster.nodes, count_option(invocation, "nodes", 8));
  TRY_ASSIGN(cluster.gpus_per_node, count_option(invocation, "gpus-per-node", 8));
  TRY_ASSIGN(const std::vector<sim::GangJob> jobs,
             sim::read_gang_trace(invocation.get("trace"), invocation.get("overheads")));
  TRY_ASSIGN(const Ran ran, run(invocation, jobs, cluster));
  if (json) {
    fmt::print(R"({{"avg_jct_s": {:.3f}, "makespan_s": {:.3f}, "p99_jct_s": {:.3f}, )"
               R"("jobs": {}, "starts": {}}})"
               "\n",
               ran.figures.average_s, ran.figures.makespan_s, ran.figures.p99_s, jobs.size(),
               ran.starts);
    return cli::kExitOk;
  }
  fmt::print("{} jobs under {} on {} x {} GPUs: {} starts\n\n", jobs.size(),
             invocation.get("policy"), cluster.nodes, cluster.gpus_per_node, ran.starts);
  fmt::print("average completion  {:14.1f} s\n", ran.figures.average_s);
  fmt::print("99 % complete in    {:14.1f} s\n", ran.figures.p99_s);
  fmt::print("makespan            {:14.1f} s\n", ran.figures.makespan_s);
  return cli::kExitOk;
}

}  // namespace

cli::Command sim_replay_muri_command() {
  return {spec(), [](const cli::Invocation& it) { return exit_of(kName, replay(it)); }};
}

}  // namespace dove::programs
