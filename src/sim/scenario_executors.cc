#include "sim/scenario_executors.h"

#include <algorithm>
#include <cstdlib>

#include "core/executors/sync.h"

namespace dove::sim {
namespace {

// "0-3,7".
std::vector<std::int32_t> ids_of(const std::string& text) {
  std::vector<std::int32_t> ids;
  for (const std::string& range : split(text, ',')) {
    const auto ends = split(range, '-');
    for (int i = std::atoi(ends.front().c_str()); i <= std::atoi(ends.back().c_str()); ++i) {
      ids.push_back(i);
    }
  }
  return ids;
}

std::vector<Event> declared(const std::string& name, Options& options) {
  Executor executor;
  executor.name = name;
  executor.nodes = options.list("nodes");
  executor.placeholders = !options.flag("plain");
  executor.runs_jobs = options.flag("runs");
  executor.gate = options.flag("gate");
  if (options.flag("lent_gpus") || options.flag("lent_cores")) {
    Lendable& lent = executor.lendable.emplace_back();
    lent.nodes = executor.nodes;
    lent.devices = ids_of(options.text("lent_gpus"));
    lent.cores = static_cast<std::int32_t>(options.amount("lent_cores", -1));
  }
  for (const std::string& pair : options.list("queues")) {
    const auto parts = split(pair, ':');
    executor.queues[parts.front()] = parts.back();
  }
  return {ObjectApplied{executor}, ExecutorContactChanged{name, ExecutorContact::kAnswering, ""}};
}

ExecutorContact contact_of(const std::string& word) {
  if (word == "silent") return ExecutorContact::kSilent;
  return word == "mute" ? ExecutorContact::kMute : ExecutorContact::kAnswering;
}

PlaceholderStage stage_of(const std::string& word) {
  if (word == "confirmed") return PlaceholderStage::kConfirmed;
  if (word == "refused") return PlaceholderStage::kRefused;
  return word == "gone" ? PlaceholderStage::kGone : PlaceholderStage::kAsked;
}

ExecutorNodeState node_state_of(const std::string& word) {
  if (word == "drained") return ExecutorNodeState::kDrained;
  return word == "down" ? ExecutorNodeState::kDown : ExecutorNodeState::kUp;
}

Event foreign(const std::string& executor, const std::string& id, NodeId node, Options& options) {
  if (options.flag("over")) return ForeignAllocationEnded{executor, node, id};
  ForeignAllocation one;
  one.id = id;
  for (const std::int32_t core : ids_of(options.text("cores"))) one.cores.insert(core);
  one.devices = ids_of(options.text("gpus"));
  one.memory_bytes = options.amount("mem");
  one.user = options.text("user", "ada");
  one.account = options.text("account");
  if (options.flag("from")) one.started_at = kBegin + options.span("from");
  if (options.flag("until")) one.ends_by = kBegin + options.span("until");
  return ForeignAllocationObserved{executor, node, std::move(one)};
}

// What an adapter says of a placement that its executor runs, and what its ledger takes as news.
std::vector<Event> work(const core::State& state, const std::string& executor, JobId id,
                        Options& options) {
  const core::Job* job = state.find_job(id);
  const auto declared = state.executors.find(executor);
  if (job == nullptr || job->attempts.empty() || declared == state.executors.end()) return {};
  core::Observation said;
  said.complete = false;
  core::SaidWork& one = said.works.emplace_back();
  one.job = id;
  one.attempt = job->attempts.back().number;
  one.node = options.text("on");
  one.why = options.text("why");
  const std::string is = options.text("is");
  one.has_ended = is == "ended";
  if (options.flag("exit")) {
    for (const core::PlacementRecord& record : job->attempts.back().placements) {
      if (state.find_node(record.placement->node)->name != one.node) continue;
      for (const TaskGrant& task : record.placement->tasks) {
        one.exits.push_back({task.rank, static_cast<std::int32_t>(options.amount("exit")), 0, ""});
      }
    }
  }
  std::vector<Event> events = core::news(state, declared->second, said);
  std::erase_if(events, [](const Event& event) {
    return std::holds_alternative<ExecutorContactChanged>(event);
  });
  return events;
}

}  // namespace

std::vector<Event> executor_events(const core::State& state, const std::string& verb,
                                   const std::string& name, Options& options,
                                   const FindJob& find_job) {
  const std::string executor = options.text("executor", "slurm");
  const auto node_of = [&](const std::string& node) {
    const core::Node* found = state.find_node(node);
    return found == nullptr ? NodeId{} : found->id;
  };
  if (verb == "executor") return declared(name, options);
  if (verb == "contact") {
    return {ExecutorContactChanged{name, contact_of(options.text("is")), "scenario"}};
  }
  if (verb == "foreign") return {foreign(executor, name, node_of(options.text("on")), options)};
  if (verb == "said") {
    return {ExecutorNodeObserved{executor, node_of(name), node_state_of(options.text("is")),
                                 options.text("why")}};
  }
  if (verb == "work") return work(state, executor, find_job(name), options);
  if (verb != "placeholder") return {};
  const core::Job* job = state.find_job(find_job(name));
  const std::size_t current = job == nullptr ? 0 : job->attempts.size();
  const auto attempt =
      static_cast<AttemptNumber>(options.amount("attempt", static_cast<std::int64_t>(current)));
  return {PlaceholderMoved{executor, find_job(name), attempt, node_of(options.text("on")),
                           stage_of(options.text("is")), "1300", options.text("why")}};
}

}  // namespace dove::sim
