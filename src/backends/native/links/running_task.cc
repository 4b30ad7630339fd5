#include "backends/native/links/running_task.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "model/job.h"

namespace dove::backends {
namespace {

Result<std::int32_t> whole_number(std::string_view text) {
  std::int32_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && at == text.data() + text.size() && value >= 0) return value;
  return Error{ErrorKind::kNotFound, "no_such_task",
               fmt::format("'{}' names no task: give a rank, or GROUP/NUMBER", text), "task"};
}

const core::PlacementRecord* placement_of(const core::Job& job, Rank rank) {
  const core::Attempt& attempt = job.attempts.back();
  for (const core::PlacementRecord& record : attempt.placements) {
    if (record.stage != core::PlacementStage::kStarted) continue;
    // A batch script runs once, on the first node, and is task 0.
    if (job.spec->launch == LaunchMode::kBatch && rank == 0) {
      if (record.placement->node_rank == 0) return &record;
      continue;
    }
    for (const TaskGrant& task : record.placement->tasks) {
      if (task.rank == rank) return &record;
    }
  }
  return nullptr;
}

const core::PlacementRecord* placement_on(const core::State& state, const core::Job& job,
                                          const std::string& name) {
  const core::Node* node = state.find_node(name);
  for (const core::PlacementRecord& record : job.attempts.back().placements) {
    const bool runs = record.stage == core::PlacementStage::kStarted;
    if (runs && node != nullptr && record.placement->node == node->id) return &record;
  }
  return nullptr;
}

Rank first_rank(const core::Job& job, const Placement& placement) {
  const bool has_script = job.spec->launch == LaunchMode::kBatch && placement.node_rank == 0;
  return has_script || placement.tasks.empty() ? 0 : placement.tasks.front().rank;
}

}  // namespace

Result<Rank> find_task(const JobSpec& spec, const std::string& text) {
  if (text.empty()) return Rank{0};
  const std::size_t slash = text.rfind('/');
  TRY_ASSIGN(const std::int32_t number,
             whole_number(slash == std::string::npos ? text : text.substr(slash + 1)));
  std::int32_t first = 0;
  std::string names;
  for (const TaskGroup& group : spec.groups) {
    if (slash != std::string::npos && group.name == text.substr(0, slash) && number < group.tasks) {
      return static_cast<Rank>(first + number);
    }
    names += fmt::format("{}{}/0 to {}/{}", names.empty() ? "" : ", ", group.name, group.name,
                         group.tasks - 1);
    first += group.tasks;
  }
  if (slash == std::string::npos && number < first) return static_cast<Rank>(number);
  return Error{
      ErrorKind::kNotFound, "no_such_task",
      fmt::format("the job has no task {}; there are {} (ranks 0 to {})", text, names, first - 1),
      "task"};
}

Result<RunningTask> find_running(const core::State& state, const core::Job& job,
                                 const std::string& task, const std::string& node) {
  RunningTask found;
  const bool runs = job.phase == JobPhase::kActive && !job.attempts.empty();
  const core::PlacementRecord* placement = nullptr;
  if (node.empty()) {
    TRY_ASSIGN(found.rank, find_task(*job.spec, task));
    if (runs) placement = placement_of(job, found.rank);
  } else if (runs) {
    placement = placement_on(state, job, node);
    if (placement != nullptr) found.rank = first_rank(job, placement->placement);
  }
  if (placement == nullptr) {
    return Error{ErrorKind::kConflict, "not_running",
                 node.empty()
                     ? fmt::format("task {} of job {} is not running", found.rank, job.id.value)
                     : fmt::format("no task of job {} is running on {}", job.id.value, node),
                 "task"};
  }
  found.attempt = job.attempts.back().number;
  found.node = placement->placement->node;
  return found;
}

}  // namespace dove::backends
