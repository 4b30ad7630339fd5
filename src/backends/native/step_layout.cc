#include "backends/native/step_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dove::backends {
namespace {

using Placements = std::vector<const Placement*>;

std::int32_t slots(const Placement& placement) {
  return std::max<std::int32_t>(1, static_cast<std::int32_t>(placement.tasks.size()));
}

Result<Placements> candidates(const core::State& state, const core::Attempt& attempt,
                              const StepRequest& request) {
  Placements found;
  std::set<std::string> wanted(request.nodelist.begin(), request.nodelist.end());
  for (const core::PlacementRecord& record : attempt.placements) {
    if (record.stage == core::PlacementStage::kEnded) continue;
    const core::Node* node = state.find_node(record.placement->node);
    if (node == nullptr) continue;
    if (!request.nodelist.empty() && wanted.erase(node->name) == 0) continue;
    found.push_back(&*record.placement);
  }
  if (!request.nodelist.empty() && !wanted.empty()) {
    return Error{ErrorKind::kInvalid, "no_such_node_in_job",
                 fmt::format("node {} is not one of this job's", *wanted.begin()), "nodelist"};
  }
  if (request.nodes > static_cast<std::int32_t>(found.size())) {
    return Error{
        ErrorKind::kInvalid, "step_too_large",
        fmt::format("the step asks for {} nodes, the job holds {}", request.nodes, found.size()),
        "nodes"};
  }
  if (request.nodes > 0) found.resize(static_cast<std::size_t>(request.nodes));
  return found;
}

std::int32_t capacity(const Placement& placement, const StepRequest& request, bool by_cores) {
  if (request.tasks_per_node > 0) return request.tasks_per_node;
  if (!by_cores) return slots(placement);
  const auto cores = static_cast<std::int32_t>(placement.cores.size());
  return std::max(slots(placement), cores / std::max(1, request.cores_per_task));
}

std::int32_t default_tasks(const Placements& placements, const StepRequest& request) {
  std::int32_t tasks = 0;
  for (const Placement* placement : placements) {
    tasks += request.tasks_per_node > 0 ? request.tasks_per_node : slots(*placement);
  }
  return tasks;
}

// How many tasks each placement gets; empty when they do not fit.
std::vector<std::int32_t> counts(const Placements& placements, const StepRequest& request,
                                 std::int32_t tasks, bool by_cores) {
  std::vector<std::int32_t> given(placements.size(), 0);
  std::int32_t left = tasks;
  for (std::size_t i = 0; i < given.size() && left > 0; ++i, --left) given[i] = 1;
  for (std::size_t i = 0; i < given.size() && left > 0; ++i) {
    const std::int32_t more =
        std::clamp(capacity(*placements[i], request, by_cores) - given[i], 0, left);
    given[i] += more;
    left -= more;
  }
  if (left == 0) return given;
  if (!request.overcommit) return {};
  for (std::size_t i = 0; left > 0; i = (i + 1) % given.size(), --left) ++given[i];
  return given;
}

TaskGrant merged(const Placement& placement, std::size_t begin, std::size_t end) {
  TaskGrant grant;
  for (std::size_t i = begin; i < end; ++i) {
    const TaskGrant& slot = placement.tasks[i];
    grant.cores |= slot.cores;
    for (const DeviceGrant& device : slot.devices) {
      if (std::find(grant.devices.begin(), grant.devices.end(), device) == grant.devices.end()) {
        grant.devices.push_back(device);
      }
    }
  }
  return grant;
}

TaskGrant grant_of(const Placement& placement, std::int32_t position, std::int32_t count) {
  const std::size_t held = placement.tasks.size();
  TaskGrant grant;
  if (held == 0 || static_cast<std::size_t>(count) > held) {
    // More tasks than slots share what the node holds.
    grant.cores = placement.cores;
    grant.devices = placement.devices;
  } else {
    const auto at = [&](std::int32_t i) {
      return static_cast<std::size_t>(i) * held / static_cast<std::size_t>(count);
    };
    grant = merged(placement, at(position), at(position + 1));
  }
  grant.local_rank = position;
  return grant;
}

}  // namespace

Result<std::vector<StepNode>> lay_out_step(const core::State& state, const core::Attempt& attempt,
                                           const StepRequest& request) {
  TRY_ASSIGN(Placements placements, candidates(state, attempt, request));
  if (placements.empty()) {
    return Error{ErrorKind::kConflict, "nothing_allocated", "the job holds no node now", ""};
  }
  const std::int32_t tasks = request.tasks > 0 ? request.tasks : default_tasks(placements, request);
  if (tasks < static_cast<std::int32_t>(placements.size())) {
    placements.resize(static_cast<std::size_t>(tasks));
  }
  std::vector<std::int32_t> given = counts(placements, request, tasks, /*by_cores=*/false);
  if (given.empty()) given = counts(placements, request, tasks, /*by_cores=*/true);
  if (given.empty()) {
    return Error{
        ErrorKind::kInvalid, "step_too_large",
        fmt::format("{} tasks do not fit on the {} nodes and {} slots of this job; ask for "
                    "fewer, or let cores be shared with --overcommit",
                    tasks, placements.size(), default_tasks(placements, StepRequest{})),
        "tasks"};
  }
  std::vector<StepNode> nodes;
  Rank rank = 0;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    StepNode node{placements[i]->node, {}};
    for (std::int32_t k = 0; k < given[i]; ++k) {
      TaskGrant grant = grant_of(*placements[i], k, given[i]);
      grant.rank = rank++;
      node.tasks.push_back(std::move(grant));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace dove::backends
