// dove sim replay muri: completion times of gangs under any order of jobs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "policies/orders.h"
#include "programs/commands.h"
#include "programs/replay_options.h"
#include "sim/gang_replay.h"

namespace dove::programs {
namespace {

constexpr const char* kName = "sim replay muri";

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = kName;
  spec.summary = "Run a trace of gangs under an order of jobs and print completion times";
  spec.group = "Programs";
  spec.description = fmt::format(
      "Muri's experiment (SIGCOMM'22): gangs on equal nodes, sorted and placed again at every\n"
      "event, each running job losing its switching overhead then. Policies: {}.\n"
      "srtf and srsf know how long jobs take, the others do not.",
      order_names());
  spec.options = {{"trace", 0, "FILE",
                   "the jobs: num_gpu,submit_time,iterations,model_name,iteration_time", false},
                  {"overheads", 0, "FILE",
                   "seconds lost at a switch: num_gpu, then a column for each model", false},
                  {"policy", 0, "NAME", "which job comes first", false},
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

Figures figures_of(const sim::GangResult& result) {
  std::vector<Span> ascending = result.completion;
  std::sort(ascending.begin(), ascending.end());
  double sum_us = 0;
  for (const Span it : ascending) sum_us += static_cast<double>(it.us);
  const std::size_t p99 = ascending.size() * 99 / 100;
  return {sum_us / static_cast<double>(ascending.size()) / 1e6,
          static_cast<double>(result.last_end.us) / 1e6,
          static_cast<double>(ascending[p99].us) / 1e6};
}

Result<int> replay(const cli::Invocation& invocation) {
  TRY(require_options(invocation, {"trace", "overheads", "policy"}));
  TRY_ASSIGN(const policies::NamedOrder named, order_option(invocation));
  TRY_ASSIGN(const bool json, json_option(invocation));
  sim::GangCluster cluster;
  TRY_ASSIGN(cluster.nodes, count_option(invocation, "nodes", 8));
  TRY_ASSIGN(cluster.gpus_per_node, count_option(invocation, "gpus-per-node", 8));
  // As published: Muri's simulator only counts GPUs under Tiresias.
  if (named.name == "tiresias-l") cluster.packing = sim::Packing::kSum;
  TRY_ASSIGN(const std::vector<sim::GangJob> jobs,
             sim::read_gang_trace(invocation.get("trace"), invocation.get("overheads")));
  TRY_ASSIGN(const sim::GangResult result, sim::replay_gangs(jobs, cluster, *named.order));
  const Figures figures = figures_of(result);
  if (json) {
    fmt::print(R"({{"avg_jct_s": {:.3f}, "makespan_s": {:.3f}, "p99_jct_s": {:.3f}, )"
               R"("jobs": {}, "events": {}, "starts": {}}})"
               "\n",
               figures.average_s, figures.makespan_s, figures.p99_s, jobs.size(), result.events,
               result.starts);
    return cli::kExitOk;
  }
  fmt::print("{} jobs under {} on {} x {} GPUs: {} events, {} starts\n\n", jobs.size(), named.name,
             cluster.nodes, cluster.gpus_per_node, result.events, result.starts);
  fmt::print("average completion  {:14.1f} s\n", figures.average_s);
  fmt::print("99 % complete in    {:14.1f} s\n", figures.p99_s);
  fmt::print("makespan            {:14.1f} s\n", figures.makespan_s);
  return cli::kExitOk;
}

}  // namespace

cli::Command sim_replay_muri_command() {
  return {spec(), [](const cli::Invocation& it) { return exit_of(kName, replay(it)); }};
}

}  // namespace dove::programs
