#include "core/place/node_shape.h"

#include <algorithm>

#include "core/place/device_fit.h"
#include "core/place/place.h"
#include "core/state/amount.h"

namespace dove::core {
namespace {

constexpr std::int64_t kShares_max = 16;  // on a node; each is a step of its score

// Tasks on a node, and nodes.
struct Split {
  std::int64_t tasks = 1;
  std::int64_t nodes = 1;
  bool is_even = true;
};

Split even(std::int64_t tasks, std::int64_t nodes) {
  return {(tasks + nodes - 1) / nodes, nodes, tasks % nodes == 0};
}

// As the search splits groups (node_search.cc); none: as it finds room.
std::optional<Split> fixed_split(const TaskGroup& group) {
  const std::int64_t tasks = group.tasks;
  if (tasks <= 1) return Split{};
  if (group.tasks_per_node > 0) {
    const std::int64_t each = std::min<std::int64_t>(group.tasks_per_node, tasks);
    return Split{each, (tasks + each - 1) / each, tasks % each == 0};
  }
  if (group.nodes_max == 1) return Split{tasks, 1};
  if (group.nodes_max > 0 && group.nodes_min == group.nodes_max) {
    return even(tasks, group.nodes_min);
  }
  return std::nullopt;
}

// What the search tries first where it is free: the fewest nodes that the group may have, or the
// most.
Split first_split(const TaskGroup& group, Spread spread) {
  if (spread != Spread::kSpread) return even(group.tasks, std::max(group.nodes_min, 1));
  const std::int32_t most = group.nodes_max > 0 ? group.nodes_max : group.tasks;
  return even(group.tasks, std::min(group.tasks, most));
}

bool same_kind(const Request& a, const Request& b) {
  return a.gpu_model == b.gpu_model && a.gpu_memory_bytes == b.gpu_memory_bytes;
}

// Whether devices of the tasks and of the node are whole ones of one kind.
bool add_up(const TaskGroup& group) {
  const Request& task = group.per_task;
  const Request& node = group.per_node;
  return task.gpus > 0 && node.gpus > 0 && same_kind(task, node);
}

NodeShape shape_of(const TaskGroup& group, const Split& split) {
  const Request& task = group.per_task;
  const Request& node = group.per_node;
  NodeShape shape;
  shape.tasks = split.tasks;
  shape.nodes = split.nodes;
  shape.cores = split.tasks * task.cores + node.cores;
  shape.memory_bytes = sum_of(product_of(split.tasks, task.memory_bytes), node.memory_bytes);
  if (wants_devices(task)) {
    shape.devices = &task;
    shape.gpus = split.tasks * task.gpus;
    shape.share_milli = task.share_milli;
    shape.shares = task.share_milli > 0 ? split.tasks : 0;
    shape.slices = split.tasks * task.slices;
  }
  // Anything else besides leaves the node's part to the search.
  if (wants_devices(node) && (!wants_devices(task) || add_up(group))) {
    shape.devices = &node;
    shape.gpus += node.gpus;
    shape.share_milli = node.share_milli;
    shape.shares = node.share_milli > 0 ? 1 : 0;
    shape.slices = node.slices;
  }
  return shape;
}

// Compared as a whole with what scores know: a field of Request that is added later makes a job one
// for the search, and not one that is scored wrongly.
bool is_plain(const Request& request) {
  Request plain;
  plain.cores = request.cores;
  plain.memory_bytes = request.memory_bytes;
  plain.gpus = request.gpus;
  plain.share_milli = request.share_milli;
  plain.slice = request.slice;
  plain.slices = request.slices;
  plain.gpu_model = request.gpu_model;
  plain.gpu_memory_bytes = request.gpu_memory_bytes;
  plain.countables = request.countables;  // each node is asked for them by itself
  return request == plain;
}

}  // namespace

NodeShape node_shape(const TaskGroup& group) {
  std::optional<Split> split = fixed_split(group);
  // What nodes are asked for besides the tasks' own devices is there once for each, so the fewest
  // nodes are the least that it takes; else each task may be alone.
  if (!split) {
    split = wants_devices(group.per_node) ? even(group.tasks, std::max(group.nodes_min, 1))
                                          : Split{1, group.tasks};
  }
  // Several shares may lie on one device or on several: each is as a node's only one.
  if (group.per_task.share_milli > 0 && split->tasks > 1) split = Split{1, group.tasks};
  return shape_of(group, *split);
}

std::optional<NodeShape> scored_shape(const JobSpec& spec) {
  if (spec.exclusive || spec.groups.size() != 1) return std::nullopt;
  // What an executor is lent is known to the search alone, not to scores by class of node.
  if (!spec.executor.empty()) return std::nullopt;
  // Which nodes will do depends on those that are taken beside them.
  if (wants_some(spec) || has_wish_for_all(spec)) return std::nullopt;
  const TaskGroup& group = spec.groups.front();
  if (!is_plain(group.per_task) || !is_plain(group.per_node)) return std::nullopt;
  const bool is_of_two = wants_devices(group.per_task) && wants_devices(group.per_node);
  if (is_of_two && !add_up(group)) return std::nullopt;
  const std::optional<Split> fixed = fixed_split(group);
  const Split split = fixed ? *fixed : first_split(group, spec.spread);
  const NodeShape shape = shape_of(group, split);
  if (!split.is_even || shape.shares > kShares_max) return std::nullopt;
  return shape;
}

}  // namespace dove::core
