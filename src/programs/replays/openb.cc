// dove sim replay openb: the published fragmentation experiment, of our scheduler or published
// placement policies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <ranges>
#include <string_view>

#include "programs/commands.h"
#include "programs/replays/replay_options.h"
#include "sim/live/live_trace.h"
#include "sim/published/openb_replay.h"
#include "sim/published/placements.h"

namespace dove::programs {
namespace {

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const sim::PublishedPlacement& it : sim::published_placements()) {
    names.emplace_back(it.name);
  }
  return names;
}

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "sim replay openb";
  spec.summary = "Place the arrivals of an openb trace and print what stays unallocated";
  spec.group = "Programs";
  spec.description = fmt::format(
      "Alibaba's cluster-trace-gpu-v2023 as in the published fragmentation experiments: tasks\n"
      "arrive one by one and stay; a task that fits nowhere is dropped. Prints the part of all "
      "GPUs\n"
      "that is unallocated, by the load that has arrived.\n"
      "\n"
      "Policies: default is the live scheduler under the settings of a new cluster, plain the "
      "same\n"
      "with FIFO and best fit; they know what has arrived. Published ones:\n"
      "{}.\n"
      "fgd is told the commonest tasks of the list, as published.",
      fmt::join(policy_names(), ", "));
  spec.options = {
      {"nodes", 0, "FILE", "the nodes: sn,cpu_milli,memory_mib,gpu,model", false},
      {"tasks", 0, "FILE", "the tasks: name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec]",
       false},
      {"arrivals", 0, "FILE", "a line of node ranks and one of arriving tasks", false},
      {"policy", 0, "NAME", "the policy that places them: default, plain, or a published one",
       false},
      {"jobs", 0, "KIND",
       "tasks: each is a job of one task; split: one with several GPUs is as many tasks "
       "with one each, on any number of nodes; halves: a share of a GPU is two tasks on "
       "one node with half of it each; features: one with GPUs asks for a feature of nodes, "
       "which is a model that it names, or that they have GPUs",
       false},
      {"output", 'o', "FORMAT", "text or json", false}};
  return spec;
}

int refuse(const std::string& message) {
  fmt::print(stderr, "dove sim replay openb: {}\n", message);
  return cli::kExitUsage;
}

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Times {
  double load_s = 0;
  double replay_s = 0;
};

void print_json(const std::string& policy, const sim::OpenbResult& result, const Times& times) {
  std::vector<std::string> loads;
  for (const auto& [load, value] : result.unallocated_pct) {
    loads.push_back(fmt::format(R"("{}": {:.4f})", load, value));
  }
  fmt::print(
      R"({{"policy": "{}", "arrivals": {}, "placed": {}, "dropped": {}, "load_cpu_s": {:.4f}, )"
      R"("replay_cpu_s": {:.4f}, "unallocated_pct": {{{}}}}})"
      "\n",
      policy, result.placed + result.dropped, result.placed, result.dropped, times.load_s,
      times.replay_s, fmt::join(loads, ", "));
}

void print_text(const std::string& policy, const sim::OpenbResult& result, const Times& times) {
  fmt::print("{}: {} arrivals, {} placed, {} dropped\n", policy, result.placed + result.dropped,
             result.placed, result.dropped);
  fmt::print("CPU seconds: {:.3f} to load, {:.3f} to place\n\n", times.load_s, times.replay_s);
  fmt::print("arrived %  unallocated %\n");
  for (const auto& [load, value] : result.unallocated_pct) {
    if (load % 5 == 0) fmt::print("{:9}  {:13.2f}\n", load, value);
  }
}

struct JobsWord {
  std::string_view word;
  sim::OpenbJobs jobs;
};
constexpr std::array kJobs{
    JobsWord{"tasks", sim::OpenbJobs::kTasks}, JobsWord{"split", sim::OpenbJobs::kSplit},
    JobsWord{"halves", sim::OpenbJobs::kHalves}, JobsWord{"features", sim::OpenbJobs::kFeatures}};

// `policy` is null for the live scheduler.
Result<sim::OpenbResult> replay(const sim::OpenbTrace& trace, const cli::Invocation& invocation,
                                const core::ScorePolicy* policy, sim::OpenbJobs jobs) {
  if (policy == nullptr) return sim::replay_live_openb(trace, live_scheduler(invocation), jobs);
  sim::OpenbOptions options;
  options.rounds_as_published = invocation.get("policy") == "fgd";
  return sim::replay_openb(trace, *policy, options);
}

int run(const cli::Invocation& invocation) {
  for (const char* needed : {"nodes", "tasks", "arrivals", "policy"}) {
    if (!invocation.has(needed)) return refuse(fmt::format("--{} is missing", needed));
  }
  const std::string name = invocation.get("policy");
  const core::ScorePolicy* policy = sim::find_published_placement(name);
  if (policy == nullptr && !is_live(invocation)) {
    return refuse(fmt::format("--policy: there is no '{}'; known are {}, {}", name, kLivePolicies,
                              fmt::join(policy_names(), ", ")));
  }
  const std::string word = invocation.get("jobs", "tasks");
  const auto jobs = std::ranges::find(kJobs, word, &JobsWord::word);
  if (jobs == kJobs.end()) {
    return refuse(fmt::format("--jobs: '{}' is none of {}", word,
                              fmt::join(kJobs | std::views::transform(&JobsWord::word), ", ")));
  }
  if (policy != nullptr && jobs->jobs != sim::OpenbJobs::kTasks) {
    return refuse("--jobs: published policies place tasks, each on one node");
  }
  const std::string output = invocation.get("output", "text");
  if (output != "text" && output != "json") {
    return refuse(fmt::format("--output: '{}' is neither text nor json", output));
  }
  const double begun_s = cpu_s();
  const Result<sim::OpenbTrace> trace = sim::read_openb(
      {invocation.get("nodes"), invocation.get("tasks"), invocation.get("arrivals")});
  if (!trace.ok()) {
    fmt::print(stderr, "dove sim replay openb: {}\n", trace.error().message);
    return cli::exit_code(trace.error());
  }
  const double loaded_s = cpu_s();
  const Result<sim::OpenbResult> result = replay(*trace, invocation, policy, jobs->jobs);
  if (!result.ok()) {
    fmt::print(stderr, "dove sim replay openb: {}\n", result.error().message);
    return cli::exit_code(result.error());
  }
  const Times times{loaded_s - begun_s, cpu_s() - loaded_s};
  if (output == "json") {
    print_json(name, *result, times);
  } else {
    print_text(name, *result, times);
  }
  return cli::kExitOk;
}

}  // namespace

cli::Command sim_replay_openb_command() { return {spec(), run}; }

}  // namespace dove::programs
