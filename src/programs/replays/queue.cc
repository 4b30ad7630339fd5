// dove sim replay philly, swf, log: a trace of submissions, or a log of ours, through a queue.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <numeric>

#include "programs/commands.h"
#include "programs/replays/replay_options.h"
#include "sim/published/queue_replay.h"
#include "sim/queue_figures.h"
#include "sim/traces/log_trace.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

using Reader = Result<sim::QueueTrace> (*)(const std::string&);

struct Admitting {
  const char* name;
  const char* order;  // as job_orders() names it
  sim::Admission admission;
  bool by_share;
};

// Orders that are not here pass over what does not fit.
constexpr Admitting kAdmitting[] = {
    {"drf", "drf", sim::Admission::kPassOver, true},
    {"easy", "fifo", sim::Admission::kReserveHead, false},
    {"fifo-strict", "fifo", sim::Admission::kHeadBlocks, false},
};

std::string names() {
  std::string all = order_names();
  for (const Admitting& it : kAdmitting) {
    if (sim::find_job_order(it.name) == nullptr) all += fmt::format(", {}", it.name);
  }
  return all;
}

Result<sim::QueuePolicy> policy_of(const cli::Invocation& invocation) {
  const std::string name = invocation.get("policy");
  for (const Admitting& it : kAdmitting) {
    if (name != it.name) continue;
    return sim::QueuePolicy{sim::find_job_order(it.order), it.admission, it.by_share};
  }
  const sim::JobOrder* order = sim::find_job_order(name);
  if (order != nullptr) return sim::QueuePolicy{order, sim::Admission::kPassOver, false};
  return Error{
      ErrorKind::kInvalid, "usage",
      fmt::format("--policy: there is no '{}'; known are {}, {}", name, kLivePolicies, names()),
      "policy"};
}

Result<void> read_log(const std::string& path, sim::LogTrace& trace) {
  TRY_ASSIGN(auto store, store::SqliteStore::open(path, store::OpenMode::kReadOnly));
  TRY_ASSIGN(const Seq forgotten, store->forgotten_through());
  Seq after;
  if (forgotten) {
    TRY_ASSIGN(const std::optional<store::Snapshot> latest, store->latest_snapshot());
    if (latest) {
      TRY(trace.begin_after(latest->bytes));
      after = latest->head.seq;
    }
  }
  return store->read(after, [&](const store::Batch& batch) {
    trace.begin(batch.at, batch.epoch);
    for (const StampedEvent& event : batch.events) trace.add(event);
    for (const Decision& decision : batch.decisions) trace.add(decision);
    return true;
  });
}

cli::CommandSpec spec(const char* name, const char* summary, const char* format,
                      const char* nodes = "nodes, of each kind") {
  cli::CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "Programs";
  spec.operands = "FILE";
  spec.completes = "file";
  spec.operands_min = spec.operands_max = 1;
  spec.description = fmt::format(
      "{}\n"
      "\n"
      "Policies: default is the live scheduler under the settings of a new cluster; it is told "
      "the\n"
      "time that a job asked for if the trace has it. plain is the same with FIFO and best fit.\n"
      "Published schedulers, under which a job that has started runs to its end:\n"
      "{}.\n"
      "easy knows the time that each job asked for (its true run time if the trace has none); "
      "srtf\n"
      "and srsf know the true run time; the others are told nothing about durations.",
      format, names());
  spec.options = {{"nodes", 0, "COUNT[,COUNT]", nodes, false},
                  {"gpus-per-node", 0, "COUNT[,COUNT]", "GPUs of a node, of each kind", false},
                  {"policy", 0, "NAME", "default, plain, or a published scheduler", false},
                  {"output", 'o', "FORMAT", "text or json", false}};
  return spec;
}

Result<std::vector<std::int64_t>> counts(const cli::Invocation& invocation, const char* name) {
  const std::string text = invocation.get(name);
  std::vector<std::int64_t> found;
  for (const char* at = text.data(); true; ++at) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), count);
    if (error != std::errc() || count < 1 || count > 1'000'000 || (*end != ',' && *end != 0)) {
      return Error{ErrorKind::kInvalid, "usage",
                   fmt::format("--{}: '{}' is not a count from 1 to 1000000, nor counts with "
                               "commas between",
                               name, text),
                   name};
    }
    found.push_back(count);
    if (*end == 0) return found;
    at = end;
  }
}

Result<std::vector<std::int64_t>> nodes_of(const cli::Invocation& invocation) {
  TRY_ASSIGN(const std::vector<std::int64_t> nodes, counts(invocation, "nodes"));
  TRY_ASSIGN(const std::vector<std::int64_t> gpus, counts(invocation, "gpus-per-node"));
  if (nodes.size() != gpus.size()) {
    return Error{ErrorKind::kInvalid, "usage",
                 fmt::format("--nodes has {} kinds and --gpus-per-node {}; give as many",
                             nodes.size(), gpus.size()),
                 "nodes"};
  }
  std::vector<std::int64_t> by_node;
  for (std::size_t kind = 0; kind < nodes.size(); ++kind) {
    by_node.insert(by_node.end(), static_cast<std::size_t>(nodes[kind]), gpus[kind]);
  }
  return by_node;
}

void print_json(const sim::QueueTrace& trace, const sim::QueueFigures& it, std::int64_t gpus,
                std::int64_t stopped) {
  std::string accounts;
  for (const sim::AccountFigures& account : it.accounts) {
    accounts += fmt::format(
        R"({}{{"name": "{}", "jobs": {}, "wait_s": {:.3f}, "slowdown": {:.4f}}})",
        accounts.empty() ? "" : ", ", account.name, account.jobs, account.wait_s, account.slowdown);
  }
  fmt::print(R"({{"jobs": {}, "left_out": {}, "gpus": {}, "avg_wait_s": {:.3f}, )"
             R"("p99_wait_s": {:.3f}, "max_wait_s": {:.3f}, "jobs_waited": {}, )"
             R"("avg_jct_s": {:.3f}, "makespan_s": {:.3f}, "use_pct": {:.4f}, )"
             R"("stopped": {}, "worst_account": "{}", "worst_account_slowdown": {:.4f}, )"
             R"("accounts": [{}]}})"
             "\n",
             trace.jobs.size(), trace.left_out, gpus, it.wait_s, it.wait_p99_s, it.wait_max_s,
             it.jobs_waited, it.jct_s, it.makespan_s, it.use_pct, stopped, it.worst.name,
             it.worst.slowdown, accounts);
}

void print_text(const sim::QueueTrace& trace, const sim::QueueFigures& it, std::int64_t gpus,
                std::int64_t stopped) {
  fmt::print("{} jobs of {} accounts on {} GPUs; {} of the trace are left out\n\n",
             trace.jobs.size(), trace.accounts.size(), gpus, trace.left_out);
  fmt::print("wait        mean {:.1f} s, p99 {:.1f} s, longest {:.1f} s; {} jobs waited\n",
             it.wait_s, it.wait_p99_s, it.wait_max_s, it.jobs_waited);
  fmt::print("completion  mean {:.1f} s; all ended after {:.1f} s\n", it.jct_s, it.makespan_s);
  if (gpus > 0) fmt::print("use         {:.2f} % of the GPUs\n", it.use_pct);
  if (stopped > 0) fmt::print("preemption  {} attempts were stopped for others\n", stopped);
  fmt::print("worst       account {}: slowdown {:.3f}\n\n", it.worst.name, it.worst.slowdown);
  fmt::print("{:12} {:>8} {:>12} {:>9}\n", "account", "jobs", "wait s", "slowdown");
  for (const sim::AccountFigures& account : it.accounts) {
    fmt::print("{:12} {:8} {:12.1f} {:9.3f}\n", account.name, account.jobs, account.wait_s,
               account.slowdown);
  }
}

Result<sim::QueueResult> run(const cli::Invocation& invocation, const sim::QueueTrace& trace,
                             const std::vector<std::int64_t>& nodes) {
  if (is_live(invocation)) return sim::replay_live_queue(trace, nodes, live_scheduler(invocation));
  TRY_ASSIGN(const sim::QueuePolicy policy, policy_of(invocation));
  return sim::replay_queue(trace, nodes, policy);
}

int print(const sim::QueueTrace& trace, const sim::QueueResult& result, std::int64_t gpus,
          bool json) {
  const sim::QueueFigures figures = sim::figures_of(trace, result, gpus);
  (json ? print_json : print_text)(trace, figures, gpus, result.stopped);
  return cli::kExitOk;
}

Result<int> replay_on(const cli::Invocation& invocation, const sim::QueueTrace& trace,
                      const std::vector<std::int64_t>& nodes) {
  TRY_ASSIGN(const bool json, json_option(invocation));
  TRY_ASSIGN(const sim::QueueResult result, run(invocation, trace, nodes));
  return print(trace, result, std::accumulate(nodes.begin(), nodes.end(), std::int64_t{0}), json);
}

Result<int> replay(const cli::Invocation& invocation, Reader read) {
  TRY(require_options(invocation, {"nodes", "gpus-per-node", "policy"}));
  TRY_ASSIGN(const std::vector<std::int64_t> nodes, nodes_of(invocation));
  TRY_ASSIGN(const sim::QueueTrace trace, read(invocation.operands.front()));
  return replay_on(invocation, trace, nodes);
}

Result<int> replay_as_submitted(const cli::Invocation& invocation, const sim::LoggedWork& work) {
  TRY_ASSIGN(const bool json, json_option(invocation));
  TRY_ASSIGN(sim::LiveLog found, sim::replay_live_log(work, live_scheduler(invocation)));
  if (found.not_run > 0) {
    fmt::print(stderr, "{} jobs of the log did not run here; {}\n", found.not_run, found.why);
  }
  found.trace.left_out = work.left_out + found.not_run;
  std::int64_t gpus = 0;
  for (const sim::LoggedNode& node : work.nodes) gpus += sim::gpus_of(*node.inventory);
  return print(found.trace, found.result, gpus, json);
}

Result<int> replay_log(const cli::Invocation& invocation) {
  TRY(require_options(invocation, {"policy"}));
  const bool others = invocation.has("nodes") || invocation.has("gpus-per-node");
  std::vector<std::int64_t> nodes;
  if (others) {
    TRY(require_options(invocation, {"nodes", "gpus-per-node"}));
    TRY_ASSIGN(nodes, nodes_of(invocation));
  }
  // A wrong name is found before a long log is read.
  if (!is_live(invocation)) TRY(policy_of(invocation));
  const std::string& path = invocation.operands.front();
  sim::LogTrace log;
  TRY(read_log(path, log));
  if (is_live(invocation) && !others) {
    TRY_ASSIGN(const sim::LoggedWork work, log.take_work(path));
    return replay_as_submitted(invocation, work);
  }
  if (!others) nodes = log.gpus_by_node();
  if (nodes.empty()) {
    return Error{ErrorKind::kInvalid, "usage",
                 "no node of the log has GPUs; give nodes with --nodes and --gpus-per-node",
                 "nodes"};
  }
  TRY_ASSIGN(const sim::QueueTrace trace, log.take(path));
  return replay_on(invocation, trace, nodes);
}

}  // namespace

cli::Command sim_replay_philly_command() {
  constexpr const char* kName = "sim replay philly";
  return {spec(kName, "Run Microsoft's Philly trace through a queue and print waits and fairness",
               "FILE is CSV with timestamp, duration (s), num_gpus and cluster, the account."),
          [](const cli::Invocation& it) { return exit_of(kName, replay(it, sim::read_philly)); }};
}

cli::Command sim_replay_swf_command() {
  constexpr const char* kName = "sim replay swf";
  return {
      spec(
          kName, "Run a workload in SWF through a queue and print waits and fairness",
          "FILE is in the Parallel Workloads Archive's format. Processors count as GPUs; the user\n"
          "is the account."),
      [](const cli::Invocation& it) { return exit_of(kName, replay(it, sim::read_swf)); }};
}

cli::Command sim_replay_log_command() {
  constexpr const char* kName = "sim replay log";
  cli::CommandSpec made = spec(
      kName, "Run the jobs of a server's log through a queue and print waits and fairness",
      "DIR is the --data of a server, running or not. Jobs that ended count, at the instant of\n"
      "their submission and for as long as they ran; the user is the account. default and plain\n"
      "get each job as it was submitted (queue, project, priority, preemption, cores, memory,\n"
      "GPU models, arrays, dependencies), with the nodes, pools, queues, limits, users, licences\n"
      "and reservations that are there when the log ends: all nodes are up all the time, and\n"
      "nothing runs beside us. Published schedulers, and all with --nodes, see only the GPUs that\n"
      "each job asked for, on nodes that have nothing else; jobs without GPUs are left out.",
      "other nodes than those of the log, of each kind");
  made.operands = "DIR";
  return {std::move(made),
          [](const cli::Invocation& it) { return exit_of(kName, replay_log(it)); }};
}

}  // namespace dove::programs
