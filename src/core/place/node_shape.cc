#include "core/place/node_shape.h"

#include <algorithm>

#include "core/place/device_fit.h"
#include "core/state/amount.h"
#include "core/state/round_robin.h"

namespace dove::core {
namespace {

// Tasks on a node, and nodes.
struct Split {
  std::int64_t tasks = 1;
  std::int64_t nodes = 1;
  bool is_fixed = true;
};

Split even(std::int64_t tasks, std::int64_t nodes) {
  return {(tasks + nodes - 1) / nodes, nodes, tasks % nodes == 0};
}

// As the search splits groups (node_search.cc).
Split split_of(const TaskGroup& group) {
  const std::int64_t tasks = group.tasks;
  if (tasks <= 1) return {};
  if (group.tasks_per_node > 0) {
    const std::int64_t each = std::min<std::int64_t>(group.tasks_per_node, tasks);
    return {each, (tasks + each - 1) / each, tasks % each == 0};
  }
  if (group.nodes_max == 1) return {tasks, 1, true};
  if (group.nodes_max > 0 && group.nodes_min == group.nodes_max) {
    return even(tasks, group.nodes_min);
  }
  // Free. What nodes are asked for besides the tasks' own devices is there once for each, so the
  // fewest nodes are the least that it takes; else each task may be alone.
  Split free{1, tasks, false};
  if (wants_devices(group.per_node)) free = even(tasks, std::max(group.nodes_min, 1));
  free.is_fixed = false;
  return free;
}

bool same_kind(const Request& a, const Request& b) {
  return a.gpu_model == b.gpu_model && a.gpu_memory_bytes == b.gpu_memory_bytes;
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
  return request == plain;
}

}  // namespace

NodeShape node_shape(const TaskGroup& group) {
  const Request& task = group.per_task;
  const Request& node = group.per_node;
  const bool of_task = wants_devices(task);
  const bool of_node = wants_devices(node);
  Split split = split_of(group);
  NodeShape shape;
  // Whole devices of one kind add up. Anything else besides leaves the node's part to the search.
  const bool adds_up = task.gpus > 0 && node.gpus > 0 && same_kind(task, node);
  // Several shares may lie on one device or on several: each is as a node's only one.
  if (task.share_milli > 0 && split.tasks > 1) split = {1, group.tasks, false};
  shape.is_exact = split.is_fixed && (!of_task || !of_node || adds_up);
  shape.tasks = split.tasks;
  shape.nodes = split.nodes;
  shape.cores = split.tasks * task.cores + node.cores;
  shape.memory_bytes = sum_of(product_of(split.tasks, task.memory_bytes), node.memory_bytes);
  if (of_task) {
    shape.devices = &task;
    shape.gpus = split.tasks * task.gpus;
    shape.share_milli = task.share_milli;
    shape.slices = split.tasks * task.slices;
  }
  if (of_node && (!of_task || adds_up)) {
    shape.devices = &node;
    shape.gpus += node.gpus;
    shape.share_milli = node.share_milli;
    shape.slices = node.slices;
  }
  return shape;
}

bool has_one_shape(const JobSpec& spec) {
  if (!takes_any_node(spec)) return false;
  const TaskGroup& group = spec.groups.front();
  return node_shape(group).is_exact && is_plain(group.per_task) && is_plain(group.per_node);
}

}  // namespace dove::core
