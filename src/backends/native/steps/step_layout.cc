#include "backends/native/steps/step_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "backends/native/steps/step_rooms.h"

namespace dove::backends {
namespace {

using Rooms = std::vector<StepRoom>;

Error refused(const char* code, std::string message, const char* field) {
  return Error{ErrorKind::kInvalid, code, std::move(message), field};
}

std::int64_t amount_of(const Placement& placement, const std::string& name) {
  for (const Countable& one : placement.countables) {
    if (one.name == name) return one.amount;
  }
  return 0;
}

// The nodes that the step may use, as if no other step ran.
Result<Rooms> candidates(const core::State& state, const core::Attempt& attempt,
                         const StepRequest& request) {
  Rooms found;
  std::set<std::string> wanted(request.nodelist.begin(), request.nodelist.end());
  const std::set<std::string> unwanted(request.exclude.begin(), request.exclude.end());
  std::int32_t position = 0;
  for (const core::PlacementRecord& record : attempt.placements) {
    if (record.stage == core::PlacementStage::kEnded) continue;
    const core::Node* node = state.find_node(record.placement->node);
    if (node == nullptr || position++ < request.relative) continue;
    if (!request.nodelist.empty() && wanted.erase(node->name) == 0) continue;
    if (unwanted.contains(node->name)) continue;
    for (const Countable& one : request.countables) {
      const std::int64_t held = amount_of(*record.placement, one.name);
      if (held >= one.amount) continue;
      return refused("no_such_device",
                     fmt::format("the step asks for {} of {}, the job holds {} on {}", one.amount,
                                 one.name, held, node->name),
                     "countables");
    }
    found.push_back(whole_room(*node, *record.placement, request));
  }
  if (!request.nodelist.empty() && !wanted.empty()) {
    return refused("no_such_node_in_job",
                   fmt::format("node {} is not one of this job's, or is left out by --relative or "
                               "--exclude",
                               *wanted.begin()),
                   "nodelist");
  }
  if (found.empty()) {
    if (position == 0) {
      return Error{ErrorKind::kConflict, "nothing_allocated", "the job holds no node now", ""};
    }
    return refused("step_too_large",
                   fmt::format("--relative, --exclude and --nodelist leave none of the job's {} "
                               "nodes",
                               position),
                   "nodes");
  }
  if (request.nodes > static_cast<std::int32_t>(found.size())) {
    return refused(
        "step_too_large",
        fmt::format("the step asks for {} nodes, the job holds {}{}", request.nodes, position,
                    position == static_cast<std::int32_t>(found.size())
                        ? ""
                        : fmt::format(", and {} of them may be used", found.size())),
        "nodes");
  }
  return found;
}

std::int32_t all_slots(const Rooms& rooms) {
  std::int32_t tasks = 0;
  for (const StepRoom& room : rooms) {
    tasks += std::max<std::int32_t>(1, static_cast<std::int32_t>(room.placement->tasks.size()));
  }
  return tasks;
}

std::int32_t tasks_of(const Rooms& all, const StepRequest& request) {
  if (request.tasks > 0) return request.tasks;
  Rooms rooms = all;
  if (request.nodes > 0) rooms.resize(static_cast<std::size_t>(request.nodes));
  const auto nodes = static_cast<std::int32_t>(rooms.size());
  if (request.devices.tasks_per_device > 0) {
    std::int32_t devices = request.devices.total.value_or(0);
    if (request.devices.per_node) devices = *request.devices.per_node * nodes;
    if (devices == 0) {
      for (const StepRoom& room : rooms) {
        devices += static_cast<std::int32_t>(room.free.devices.size());
      }
    }
    return std::max(1, devices * request.devices.tasks_per_device);
  }
  return request.tasks_per_node > 0 ? request.tasks_per_node * nodes : all_slots(rooms);
}

// The rooms that the step takes, given the capacities of all: the first, or the largest where those
// are too small, in their order.
std::vector<std::size_t> chosen(const std::vector<std::int32_t>& capacities, std::size_t count,
                                std::int64_t tasks) {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    if (capacities[i] > 0) usable.push_back(i);
  }
  const auto sum = [&] {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < std::min(count, usable.size()); ++i) all += capacities[usable[i]];
    return all;
  };
  if (sum() < tasks) {
    std::stable_sort(usable.begin(), usable.end(),
                     [&](std::size_t a, std::size_t b) { return capacities[a] > capacities[b]; });
  }
  usable.resize(std::min(count, usable.size()));
  std::sort(usable.begin(), usable.end());
  return usable;
}

// One to each node, then node after node. Overcommitted ones are spread evenly.
std::vector<std::int32_t> tasks_on_each(const std::vector<std::int32_t>& capacities,
                                        std::int32_t tasks) {
  std::vector<std::int32_t> given(capacities.size(), 0);
  std::int64_t room = 0;
  for (const std::int32_t capacity : capacities) room += capacity;
  const auto nodes = static_cast<std::int32_t>(given.size());
  constexpr std::int32_t kUnbounded = 1 << 24;
  if (std::all_of(capacities.begin(), capacities.end(),
                  [](std::int32_t capacity) { return capacity > kUnbounded; })) {
    for (std::int32_t i = 0; i < nodes; ++i) {
      given[static_cast<std::size_t>(i)] = tasks / nodes + (i < tasks % nodes ? 1 : 0);
    }
    return given;
  }
  if (room < tasks) return {};
  std::int32_t left = tasks;
  for (std::size_t i = 0; i < given.size() && left > 0; ++i, --left) given[i] = 1;
  for (std::size_t i = 0; i < given.size() && left > 0; ++i) {
    const std::int32_t more = std::clamp(capacities[i] - given[i], 0, left);
    given[i] += more;
    left -= more;
  }
  return given;
}

// Empty when the step does not fit into the rooms as they are.
std::vector<StepNode> fit(const Rooms& rooms, const StepRequest& request, std::int32_t tasks,
                          bool by_cores) {
  std::vector<std::int32_t> capacities;
  for (const StepRoom& room : rooms) capacities.push_back(room_for(room, request, by_cores));
  auto nodes = static_cast<std::size_t>(request.nodes > 0 ? request.nodes : tasks);
  const StepDevices& asked = request.devices;
  if (request.nodes == 0 && asked.total && !asked.none() && !asked.per_node && !asked.per_task) {
    nodes = std::min(nodes, static_cast<std::size_t>(*asked.total));
  }
  nodes = std::min(nodes, rooms.size());
  const std::vector<std::size_t> taken = chosen(capacities, nodes, tasks);
  if (taken.empty() || (request.nodes > 0 && taken.size() < nodes)) return {};
  Rooms used;
  std::vector<std::int32_t> room;
  for (const std::size_t i : taken) {
    used.push_back(rooms[i]);
    room.push_back(capacities[i]);
  }
  if (request.nodes > 0 && tasks < request.nodes) used.resize(static_cast<std::size_t>(tasks));
  room.resize(used.size());
  const std::vector<std::int32_t> each = tasks_on_each(room, tasks);
  if (each.empty()) return {};
  const std::vector<std::int32_t> devices = device_counts(used, each, request);
  if (devices.empty()) return {};
  std::vector<StepNode> laid_out;
  Rank rank = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (each[i] == 0) continue;
    laid_out.push_back(take_room(used[i], request, each[i], devices[i]));
    for (TaskGrant& task : laid_out.back().tasks) task.rank = rank++;
  }
  return laid_out;
}

std::string asked_text(const StepRequest& request, std::int32_t tasks) {
  std::string text = fmt::format("{} task{}", tasks, tasks == 1 ? "" : "s");
  if (request.nodes > 0) {
    text += fmt::format(" on {} node{}", request.nodes, request.nodes == 1 ? "" : "s");
  }
  if (request.tasks_per_node > 0) text += fmt::format(", {} on each node", request.tasks_per_node);
  if (request.cores_per_task > 0) text += fmt::format(", {} cores each", request.cores_per_task);
  const StepDevices& devices = request.devices;
  const std::string gpus = devices.model.empty() ? "GPUs" : devices.model + " GPUs";
  if (devices.per_task) text += fmt::format(", {} {} each", *devices.per_task, gpus);
  if (devices.per_node) text += fmt::format(", {} {} on each node", *devices.per_node, gpus);
  if (devices.total) text += fmt::format(", {} {} in all", *devices.total, gpus);
  if (request.memory_bytes > 0) {
    text += fmt::format(", {} MiB on each node", request.memory_bytes >> 20);
  }
  if (request.memory_per_core_bytes > 0) {
    text += fmt::format(", {} MiB for each core", request.memory_per_core_bytes >> 20);
  }
  return text;
}

std::string held_text(const Rooms& rooms) {
  std::size_t cores = 0;
  std::size_t devices = 0;
  std::int64_t memory = 0;
  for (const StepRoom& room : rooms) {
    cores = std::max(cores, room.free.cores.size());
    devices = std::max(devices, room.free.devices.size());
    memory = std::max(memory, room.placement->memory_bytes);
  }
  std::string text =
      fmt::format("{} node{} with at most {} slots in all, {} cores and {} GPUs", rooms.size(),
                  rooms.size() == 1 ? "" : "s", all_slots(rooms), cores, devices);
  if (memory > 0) text += fmt::format(" and {} MiB", memory >> 20);
  return text + (rooms.size() == 1 ? "" : " on one node");
}

std::vector<StepNode> fit_somehow(const Rooms& rooms, const StepRequest& request,
                                  std::int32_t tasks) {
  std::vector<StepNode> nodes = fit(rooms, request, tasks, /*by_cores=*/false);
  return nodes.empty() ? fit(rooms, request, tasks, /*by_cores=*/true) : nodes;
}

}  // namespace

Result<std::vector<StepNode>> lay_out_step(const core::State& state, const core::Job& job,
                                           const StepRequest& request, const StepLedger& ledger) {
  const core::Attempt& attempt = job.attempts.back();
  TRY_ASSIGN(const Rooms whole, candidates(state, attempt, request));
  const std::int32_t tasks = tasks_of(whole, request);
  std::vector<StepNode> nodes = fit_somehow(whole, request, tasks);
  if (nodes.empty()) {
    return refused(
        "step_too_large",
        fmt::format("the step does not fit into its job: it asks for {}, and may use {}; "
                    "ask for less, or let cores be shared with --overcommit",
                    asked_text(request, tasks), held_text(whole)),
        "tasks");
  }
  if (!request.asks() || request.overlap) return nodes;
  Rooms left;
  for (const StepRoom& room : whole) {
    left.push_back(room_left(room, request, ledger.free(job.id, attempt.number, *room.placement)));
  }
  nodes = fit_somehow(left, request, tasks);
  if (!nodes.empty()) return nodes;
  return Error{ErrorKind::kConflict, "step_must_wait",
               "other steps of the job hold what this one asks for", ""};
}

}  // namespace dove::backends
