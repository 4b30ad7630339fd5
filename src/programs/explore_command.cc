// dove sim explore: the whole control plane under virtual time and faults.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "policies/standard.h"
#include "programs/commands.h"
#include "sim/explore/explore.h"
#include "store/memory/memory_store.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kHour_us = 3'600'000'000;

cli::CommandSpec explore_spec() {
  cli::CommandSpec spec;
  spec.name = "sim explore";
  spec.summary = "Look for bugs: the control plane in virtual time, under faults";
  spec.group = "Programs";
  spec.description =
      "The real controller, API server and agents run a simulated cluster for a year, with lost,\n"
      "doubled and late messages, cut links, crashes at any point, reboots, machines that join\n"
      "anew, and component failures at the rates of Llama 3's training. With --controllers\n"
      "several share a log: they stand still, are cut off it or off agents, and hand over. What\n"
      "happens to tasks and devices is compared with what the system reports. Stops at the first\n"
      "contradiction and prints what led to it; the same options reproduce it.";
  spec.options = {
      {"seed", 0, "N", "seed of the course of events (1)", false},
      {"days", 0, "COUNT", "days of virtual time (365)", false},
      {"nodes", 0, "COUNT", "nodes of 8 GPUs (100)", false},
      {"jobs", 0, "COUNT", "jobs submitted a day (1000)", false},
      {"faults", 0, "PERCENT", "percent of the usual number of faults (100)", false},
      {"controllers", 0, "COUNT", "controllers that share a log and take over from each other (1)",
       false},
      {"shared", 0, "COUNT", "nodes that a simulated Slurm schedules, too (0)", false},
      {"threads", 0, "COUNT", "hardware threads of each core: 1, 2, 4 or 8 (1)", false},
      {"outage", 0, "HOURS", "no fault but one: no controller for this long (0)", false},
      {"check-every", 0, "BATCHES", "check all node accounting this often (64)", false}};
  return spec;
}

template <class Number>
bool read(const cli::Invocation& invocation, const char* name, Number least, Number& value) {
  if (!invocation.has(name)) return true;
  const std::string text = invocation.get(name);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least) return true;
  fmt::print(stderr, "dove sim explore: --{}: '{}' is not a number from {} on\n", name, text,
             least);
  return false;
}

// In memory where possible: agents write small files all the time.
std::string make_directory() {
  const char* given = std::getenv("DOVE_EXPLORE_DIR");
  std::string pattern = given != nullptr ? given
                        : access("/dev/shm", W_OK) == 0
                            ? "/dev/shm"
                            : std::filesystem::temp_directory_path().string();
  pattern += "/dove-explore.XXXXXX";
  return mkdtemp(pattern.data()) == nullptr ? "" : pattern;
}

std::uint64_t seed_under_way = 0;

// A CHECK of the program failed, which is a bug found like any other.
void say_seed(int /*signal*/) {
  std::fprintf(stderr, "FOUND by seed %llu: the program ended itself, see the line above\n",
               static_cast<unsigned long long>(seed_under_way));
  std::signal(SIGABRT, SIG_DFL);
}

void print(const sim::ExploreOptions& options, const sim::ExploreReport& report) {
  fmt::print(
      "seed {}: {} days of {} nodes, {} submissions acknowledged, {} jobs ({} completed), {} "
      "launches, {} tasks\n"
      "faults: controller killed {} times, agents {}, machines rebooted {}, reinstalled {}, "
      "links cut {}, components failed {}\n"
      "{} steps, {} batches, all books looked through {} times, fingerprint {:016x}\n",
      options.seed, report.at_us / 86'400'000'000, options.nodes, report.acknowledged, report.jobs,
      report.completed, report.launches, report.tasks, report.controllers_killed,
      report.agents_killed, report.machines_rebooted, report.machines_reinstalled, report.links_cut,
      report.component_failures, report.steps, report.batches, report.full_checks,
      report.fingerprint);
  if (options.controllers > 1) {
    fmt::print(
        "{} controllers: {} terms, {} handed over, stood still {} times, {} cuts off the store, "
        "all agents or one, {} failovers of the store, {} appends without an answer\n",
        options.controllers, report.terms, report.handed_over, report.stood_still,
        report.controllers_cut, report.store_failovers, report.appends_unanswered);
  }
  if (options.shared_nodes > 0) {
    fmt::print(
        "beside a Slurm on {} nodes: {} jobs of its own, {} at its gate, {} placeholders and "
        "fences, {} lost with their nodes, {} over their limits, {} put back for ours, {} calls\n"
        "{} rooms made for its jobs, {} of them taken; {} placements of ours run there, {} of them "
        "lost\n",
        options.shared_nodes, report.foreign_jobs, report.gate_jobs, report.placeholders,
        report.lost_in_slurm, report.slurm_limits_met, report.put_back_in_slurm, report.calls,
        report.rooms, report.rooms_taken, report.steps_in_slurm, report.steps_lost);
  }
  if (options.outage_us > 0) {
    fmt::print(
        "no controller for {} h: {} tasks ran when it began, {} were fenced, {} jobs lost; {} jobs "
        "stopped by their time limit, at most {} ms late\n",
        options.outage_us / kHour_us, report.outage_tasks, report.fenced_tasks, report.lost_jobs,
        report.limits_met, report.limits_late_us / 1000);
  }
  if (report.failure.empty()) {
    fmt::print("nothing contradicts anything\n");
  } else {
    fmt::print("\n{}\nFOUND by seed {} at {}\n", report.trace, options.seed, report.failure);
  }
}

int run_explore(const cli::Invocation& invocation) {
  sim::ExploreOptions options;
  std::int64_t outage_h = 0;
  const bool readable = read<std::uint64_t>(invocation, "seed", 0, options.seed) &&
                        read<std::int64_t>(invocation, "days", 1, options.days) &&
                        read<std::int32_t>(invocation, "nodes", 1, options.nodes) &&
                        read<std::int64_t>(invocation, "jobs", 1, options.jobs_per_day) &&
                        read<std::int64_t>(invocation, "faults", 0, options.faults_percent) &&
                        read<std::int32_t>(invocation, "controllers", 1, options.controllers) &&
                        read<std::int32_t>(invocation, "shared", 0, options.shared_nodes) &&
                        read<std::int32_t>(invocation, "threads", 1, options.threads_per_core) &&
                        read<std::int64_t>(invocation, "outage", 0, outage_h) &&
                        read<std::uint64_t>(invocation, "check-every", 1, options.check_every);
  if (!readable) return cli::kExitUsage;
  options.outage_us = outage_h * kHour_us;
  if (options.controllers > 1 && outage_h > 0) {
    fmt::print(stderr,
               "dove sim explore: --outage is about one controller: leave --controllers out\n");
    return cli::kExitUsage;
  }
  if (options.threads_per_core > 8 || options.cores_per_node % options.threads_per_core != 0) {
    fmt::print(stderr, "dove sim explore: --threads: {} is none of 1, 2, 4 and 8\n",
               options.threads_per_core);
    return cli::kExitUsage;
  }
  options.policies = &policies::standard_policies();
  options.directory = make_directory();
  if (options.directory.empty()) {
    fmt::print(stderr,
               "dove sim explore: no temporary directory can be made; name one in "
               "DOVE_EXPLORE_DIR\n");
    return cli::kExitFailed;
  }
  seed_under_way = options.seed;
  std::signal(SIGABRT, say_seed);
  store::MemoryStore log;
  const sim::ExploreReport report = sim::explore(log, log, options);
  std::error_code error;
  std::filesystem::remove_all(options.directory, error);
  print(options, report);
  return report.failure.empty() ? cli::kExitOk : cli::kExitFailed;
}

}  // namespace

cli::Command sim_explore_command() { return {explore_spec(), run_explore}; }

}  // namespace dove::programs
