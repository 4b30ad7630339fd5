// What --nodes, --ntasks, --gpus and their relatives mean together.
#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/draft.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::int64_t kBytesMax = 1LL << 60;

template <class T>
T value_or(const std::optional<Size<T>>& size, T otherwise) {
  return size ? size->value : otherwise;
}

std::string counted(std::int64_t count, const char* noun) {
  if (count == 1) return fmt::format("one {}", noun);
  return fmt::format("{} {}s", count, noun);
}

Error contradiction(const Place& place, std::string message) {
  return at_place(invalid(std::move(message), "contradiction"), place);
}

// GPUs of each node as --gres or --gpus-per-node say; null for neither.
const Size<Request>* gpus_of_node(const Sizes& sizes) {
  if (sizes.gpus_per_node) return &*sizes.gpus_per_node;
  if (sizes.gres && sizes.gres->value.gpus > 0) return &*sizes.gres;
  return nullptr;
}

// The sizes as they are made out, one step after the other.
struct Shape {
  Draft& draft;
  const Sizes& sizes = draft.sizes;
  TaskGroup group;

  bool nodes_fixed() const { return group.nodes_min > 0 && group.nodes_min == group.nodes_max; }
  Result<void> find_nodes();
  Result<void> find_tasks();
  void fit_nodes_to_tasks();
  void find_tasks_per_node();
  bool agree(std::int64_t gpus_per_task) const;
  Result<void> find_gpus();
  Result<void> spread_gpus(const Size<Request>& total);
  Result<void> find_cores();
  Result<void> find_memory();
};

Result<void> Shape::find_nodes() {
  std::int64_t listed = static_cast<std::int64_t>(draft.submission.spec.nodes_wanted.size());
  if (sizes.nodes) {
    group.nodes_min = sizes.nodes->value.min;
    group.nodes_max = sizes.nodes->value.max;
    return {};  // of which those listed are some, as far as there are more
  }
  if (listed > 0) {
    group.nodes_min = group.nodes_max = static_cast<std::int32_t>(listed);
    return {};
  }
  const Size<Request>* per_node = gpus_of_node(sizes);
  if (!sizes.gpus || per_node == nullptr || per_node->value.gpus == 0) return {};
  if (sizes.gpus->value.gpus % per_node->value.gpus != 0) {
    return contradiction(sizes.gpus->place,
                         fmt::format("--gpus={} is no multiple of the {} GPUs of each node",
                                     sizes.gpus->value.gpus, per_node->value.gpus));
  }
  group.nodes_min = group.nodes_max = sizes.gpus->value.gpus / per_node->value.gpus;
  return {};
}

Result<void> Shape::find_tasks() {
  std::int64_t nodes = std::max(group.nodes_min, 1);
  std::int64_t tasks = nodes;
  if (sizes.tasks) {
    tasks = sizes.tasks->value;
  } else if (sizes.tasks_per_node) {
    tasks = nodes * sizes.tasks_per_node->value;
  } else if (sizes.gpus && sizes.gpus_per_task && sizes.gpus_per_task->value.gpus > 0) {
    tasks = sizes.gpus->value.gpus / sizes.gpus_per_task->value.gpus;
  } else if (sizes.tasks_per_gpu) {
    const Size<Request>* per_node = gpus_of_node(sizes);
    std::int64_t gpus = sizes.gpus ? sizes.gpus->value.gpus
                        : per_node ? nodes * per_node->value.gpus
                                   : 0;
    if (gpus == 0) {
      return contradiction(sizes.tasks_per_gpu->place,
                           "--ntasks-per-gpu needs a number of GPUs: add --gpus=N or "
                           "--gpus-per-node=N");
    }
    tasks = gpus * sizes.tasks_per_gpu->value;
  }
  if (tasks < 1 || tasks > kCountMax) {
    return contradiction(
        draft.sizes.nodes ? draft.sizes.nodes->place : Place{"job", 0, 0},
        fmt::format("the job would have {} tasks: 1 to {} are possible", tasks, kCountMax));
  }
  group.tasks = static_cast<std::int32_t>(tasks);
  return {};
}

void Shape::fit_nodes_to_tasks() {
  if (!sizes.nodes) return;
  if (group.tasks < group.nodes_min) {
    draft.warn(sizes.nodes->place, "fewer_nodes",
               fmt::format("{} tasks cannot use {} nodes: {} nodes are taken", group.tasks,
                           group.nodes_min, group.tasks));
    group.nodes_min = group.nodes_max = group.tasks;
  }
  bool ranged = group.nodes_max > group.nodes_min;
  if (ranged && !sizes.tasks) {
    draft.warn(sizes.nodes->place, "fewer_nodes",
               fmt::format("-N {}-{} without --ntasks: the job has {} and takes {}",
                           group.nodes_min, group.nodes_max, counted(group.tasks, "task"),
                           counted(group.nodes_min, "node")));
    group.nodes_max = group.nodes_min;
  }
  group.nodes_max = std::min(group.nodes_max, group.tasks);
}

void Shape::find_tasks_per_node() {
  if (!sizes.tasks_per_node) return;
  std::int64_t each = sizes.tasks_per_node->value;
  std::int64_t tasks = group.tasks;
  if (group.nodes_max > 0 && tasks > group.nodes_max * each) {
    // As with sbatch, --ntasks and --nodes count.
    draft.warn(sizes.tasks_per_node->place, "no_effect",
               fmt::format("--ntasks-per-node={} has no effect: {} on {} are more for each", each,
                           counted(tasks, "task"), counted(group.nodes_max, "node")));
    return;
  }
  std::int64_t least = (tasks + each - 1) / each;
  bool exact = tasks == least * each && (nodes_fixed() ? group.nodes_min == least : true) &&
               group.nodes_min <= least;
  if (exact) {
    group.nodes_min = group.nodes_max = static_cast<std::int32_t>(least);
    group.tasks_per_node = static_cast<std::int32_t>(each);
    return;
  }
  group.nodes_min = std::max(group.nodes_min, static_cast<std::int32_t>(least));
  // At most `each` on a node cannot be said; it holds by itself when no node could get more.
  if (tasks - group.nodes_min + 1 > each) {
    draft.warn(sizes.tasks_per_node->place, "no_effect",
               fmt::format("at most {} tasks a node cannot be held for {} tasks: give a --ntasks "
                           "that is nodes times --ntasks-per-node",
                           each, tasks));
  }
}

// --gpus=N of the whole job: evenly over its nodes if it has a number of them, else its tasks.
Result<void> Shape::spread_gpus(const Size<Request>& total) {
  std::int32_t gpus = total.value.gpus;
  Request* where = nullptr;
  std::int32_t parts = 0;
  // What is started once for each task gets GPUs of its own if they can be divided so.
  const bool own = draft.submission.spec.launch == LaunchMode::kEachTask;
  if (nodes_fixed() && gpus % group.nodes_min == 0 && !(own && gpus % group.tasks == 0)) {
    where = &group.per_node;
    parts = group.nodes_min;
  } else if (gpus % group.tasks == 0) {
    where = &group.per_task;
    parts = group.tasks;
  }
  bool shared = value_or(sizes.tasks_per_gpu, 1) > 1;
  if (where == nullptr || (shared && where == &group.per_task)) {
    if (group.nodes_max > 1) {
      return contradiction(total.place,
                           fmt::format("{} cannot be spread evenly over this job's nodes or {} "
                                       "tasks: use --gpus-per-node with --nodes",
                                       counted(gpus, "GPU"), group.tasks));
    }
    if (group.nodes_max == 0) {
      draft.warn(total.place, "read_as",
                 fmt::format("--gpus={} for {}: they all run on one node and share its GPUs", gpus,
                             counted(group.tasks, "task")));
    }
    group.nodes_min = group.nodes_max = 1;
    where = &group.per_node;
    parts = 1;
  }
  where->gpus = gpus / parts;
  where->gpu_model = total.value.gpu_model;
  return {};
}

// Whether `each` for every task is what each node has.
bool Shape::agree(std::int64_t each) const {
  const std::int64_t nodes = std::max(group.nodes_min, 1);
  if (group.tasks_per_node > 0) return group.per_node.gpus == each * group.tasks_per_node;
  return group.nodes_max <= nodes && group.per_node.gpus * nodes == each * group.tasks;
}

Result<void> Shape::find_gpus() {
  const Size<Request>* per_node = gpus_of_node(sizes);
  if (sizes.gres) {
    group.per_node.countables = sizes.gres->value.countables;
    group.per_node.share_milli = sizes.gres->value.share_milli;
    group.per_node.slice = sizes.gres->value.slice;
    group.per_node.slices = sizes.gres->value.slices;
    if (group.per_node.share_milli + group.per_node.slices > 0) {
      group.per_node.gpu_model = sizes.gres->value.gpu_model;
    }
  }
  if (per_node != nullptr && per_node->value.gpus > 0) {
    group.per_node.gpus = per_node->value.gpus;
    group.per_node.gpu_model = per_node->value.gpu_model;
  }
  if (sizes.gpus_per_task && sizes.gpus_per_task->value.gpus > 0) {
    const Size<Request>& per_task = *sizes.gpus_per_task;
    if (group.per_node.gpus > 0 && !agree(per_task.value.gpus)) {
      draft.warn(per_task.place, "no_effect",
                 fmt::format("--gpus-per-task={} has no effect: the {} of each node are shared by "
                             "its tasks",
                             per_task.value.gpus, counted(group.per_node.gpus, "GPU")));
      return {};
    }
    if (sizes.gpus &&
        sizes.gpus->value.gpus != static_cast<std::int64_t>(per_task.value.gpus) * group.tasks) {
      return contradiction(per_task.place,
                           fmt::format("--gpus={} is not --gpus-per-task={} times {} tasks",
                                       sizes.gpus->value.gpus, per_task.value.gpus, group.tasks));
    }
    group.per_node.gpus = 0;
    group.per_node.gpu_model.clear();
    group.per_task.gpus = per_task.value.gpus;
    group.per_task.gpu_model = per_task.value.gpu_model;
    return {};
  }
  if (sizes.tasks_per_gpu && sizes.tasks && !sizes.gpus && per_node == nullptr) {
    Size<Request> total{Request(), sizes.tasks_per_gpu->place, sizes.tasks_per_gpu->level};
    const std::int32_t each = sizes.tasks_per_gpu->value;
    total.value.gpus = group.tasks / each + (group.tasks % each > 0 ? 1 : 0);
    return spread_gpus(total);
  }
  if (!sizes.gpus || sizes.gpus->value.gpus == 0) return {};
  if (group.per_node.gpus == 0) return spread_gpus(*sizes.gpus);
  std::int64_t most = static_cast<std::int64_t>(group.per_node.gpus) * group.nodes_max;
  if (most != sizes.gpus->value.gpus) {
    return contradiction(sizes.gpus->place,
                         fmt::format("--gpus={} is not {} nodes times {} GPUs: keep one of the two",
                                     sizes.gpus->value.gpus, group.nodes_max, group.per_node.gpus));
  }
  return {};
}

Result<void> Shape::find_cores() {
  if (!sizes.cpus_per_gpu) {
    group.per_task.cores = value_or(sizes.cpus_per_task, 1);
    return {};
  }
  const Size<std::int32_t>& each = *sizes.cpus_per_gpu;
  bool of_task = group.per_task.gpus > 0;
  std::int64_t gpus = of_task ? group.per_task.gpus : group.per_node.gpus;
  std::int64_t cores = gpus * each.value;
  if (gpus == 0) {
    draft.warn(each.place, "no_effect",
               "--cpus-per-gpu has no effect: the job asks for no GPUs; add --gpus-per-node=N");
    group.per_task.cores = 1;
    return {};
  }
  if (cores > kCountMax) return contradiction(each.place, "more than 1000000 cores on a node");
  std::int64_t tasks_of_node = group.tasks_per_node > 0 ? group.tasks_per_node
                               : nodes_fixed() && group.tasks == group.nodes_min ? 1
                                                                                 : 0;
  if (of_task || (tasks_of_node > 0 && cores % tasks_of_node == 0)) {
    group.per_task.cores = static_cast<std::int32_t>(of_task ? cores : cores / tasks_of_node);
  } else {
    group.per_node.cores = static_cast<std::int32_t>(cores);
  }
  return {};
}

Result<void> Shape::find_memory() {
  if (sizes.memory_per_node && sizes.memory_per_node->value == 0 &&
      !draft.submission.spec.exclusive) {
    draft.warn(sizes.memory_per_node->place, "no_effect",
               "--mem=0 (all memory of the node) has no effect: give an amount, or --exclusive for "
               "whole nodes");
  }
  group.per_node.memory_bytes = value_or<std::int64_t>(sizes.memory_per_node, 0);
  auto put = [](const Size<std::int64_t>& each, std::int64_t task_count, std::int64_t node_count,
                TaskGroup& to) -> Result<void> {
    std::int64_t most = std::max(task_count, node_count);
    if (most > 0 && each.value > kBytesMax / most) {
      return contradiction(each.place, "more than 1 EiB of memory in all: ask for less");
    }
    to.per_task.memory_bytes = each.value * task_count;
    to.per_node.memory_bytes = each.value * node_count;
    return {};
  };
  if (sizes.memory_per_cpu) {
    TRY(put(*sizes.memory_per_cpu, group.per_task.cores, group.per_node.cores, group));
  }
  if (sizes.memory_per_gpu) {
    if (group.per_task.gpus + group.per_node.gpus == 0) {
      return contradiction(sizes.memory_per_gpu->place,
                           "--mem-per-gpu needs GPUs: add --gpus-per-node=N");
    }
    TRY(put(*sizes.memory_per_gpu, group.per_task.gpus, group.per_node.gpus, group));
  }
  return {};
}

}  // namespace

bool Sizes::any() const {
  return nodes || tasks || tasks_per_node || tasks_per_gpu || cpus_per_task || cpus_per_gpu ||
         memory_per_node || memory_per_cpu || memory_per_gpu || gres || gpus || gpus_per_node ||
         gpus_per_task;
}

Result<void> finish_sizes(Draft& draft) {
  Shape shape{.draft = draft, .group = {}};
  TRY(shape.find_nodes());
  TRY(shape.find_tasks());
  shape.fit_nodes_to_tasks();
  shape.find_tasks_per_node();
  TRY(shape.find_gpus());
  TRY(shape.find_cores());
  TRY(shape.find_memory());
  draft.submission.spec.groups = {shape.group};
  return {};
}

namespace {

// Tasks follow nodes and tasks per node unless they are named.
Result<void> adjust_tasks(const Sizes& sizes, TaskGroup& group) {
  if (sizes.tasks) {
    group.tasks = sizes.tasks->value;
  } else if (sizes.tasks_per_node || (sizes.nodes && group.tasks_per_node > 0)) {
    const std::int64_t tasks =
        static_cast<std::int64_t>(std::max(group.nodes_min, 1)) * group.tasks_per_node;
    if (tasks > kCountMax) {
      return contradiction(
          sizes.nodes ? sizes.nodes->place : sizes.tasks_per_node->place,
          fmt::format("the job would have {} tasks: 1 to {} are possible", tasks, kCountMax));
    }
    group.tasks = static_cast<std::int32_t>(tasks);
  } else if (sizes.nodes) {
    group.tasks = std::max(group.tasks, group.nodes_min);
  }
  const Place place = sizes.tasks            ? sizes.tasks->place
                      : sizes.nodes          ? sizes.nodes->place
                      : sizes.tasks_per_node ? sizes.tasks_per_node->place
                                             : Place{"command line", 0, 0};
  if (group.nodes_min > group.tasks) {
    return contradiction(
        place, fmt::format("{} cannot use {}: ask for fewer nodes, or more --ntasks",
                           counted(group.tasks, "task"), counted(group.nodes_min, "node")));
  }
  const std::int64_t each = group.tasks_per_node;
  if (each == 0) return {};
  const std::int64_t nodes = (group.tasks + each - 1) / each;
  const bool within =
      nodes >= group.nodes_min && (group.nodes_max == 0 || nodes <= group.nodes_max);
  if (group.tasks % each == 0 && within) return {};
  return contradiction(place,
                       fmt::format("{} cannot be {} on each node: make --ntasks the number of "
                                   "nodes times --ntasks-per-node",
                                   counted(group.tasks, "task"), each));
}

}  // namespace

void finish_affinity(Draft& draft) {
  if (draft.affinity == Affinity::kDefault) return;
  for (TaskGroup& group : draft.submission.spec.groups) group.affinity = draft.affinity;
}

Result<void> adjust_group(Draft& draft) {
  const Sizes& sizes = draft.sizes;
  if (!sizes.any()) return {};
  std::vector<TaskGroup>& groups = draft.submission.spec.groups;
  if (groups.empty()) groups.emplace_back();
  if (groups.size() > 1) {
    return contradiction(Place{"command line", 0, 0},
                         "the job has several task groups: change their sizes in the file");
  }
  TaskGroup& group = groups[0];
  if (sizes.nodes) {
    group.nodes_min = sizes.nodes->value.min;
    group.nodes_max = sizes.nodes->value.max;
  }
  group.tasks_per_node = value_or(sizes.tasks_per_node, group.tasks_per_node);
  TRY(adjust_tasks(sizes, group));
  group.per_task.cores = value_or(sizes.cpus_per_task, group.per_task.cores);
  group.per_node.memory_bytes = value_or(sizes.memory_per_node, group.per_node.memory_bytes);
  if (const Size<Request>* per_node = gpus_of_node(sizes)) {
    group.per_node.gpus = per_node->value.gpus;
    group.per_node.gpu_model = per_node->value.gpu_model;
  }
  if (sizes.gpus_per_task) {
    group.per_task.gpus = sizes.gpus_per_task->value.gpus;
    group.per_task.gpu_model = sizes.gpus_per_task->value.gpu_model;
  }
  if (sizes.gres) {
    group.per_node.countables = sizes.gres->value.countables;
    group.per_node.slice = sizes.gres->value.slice;
    group.per_node.slices = sizes.gres->value.slices;
  }
  if (sizes.memory_per_cpu) {
    std::int64_t cores = group.per_task.cores;
    if (cores > 0 && sizes.memory_per_cpu->value > kBytesMax / cores) {
      return contradiction(sizes.memory_per_cpu->place, "more than 1 EiB of memory for a task");
    }
    group.per_task.memory_bytes = sizes.memory_per_cpu->value * cores;
  }
  if (sizes.gpus) {
    const std::int32_t gpus = sizes.gpus->value.gpus;
    if (gpus % group.tasks != 0) {
      return contradiction(sizes.gpus->place,
                           fmt::format("{} GPUs cannot be spread evenly over {} tasks: use "
                                       "--gpus-per-task or --gpus-per-node",
                                       gpus, group.tasks));
    }
    group.per_task.gpus = gpus / group.tasks;
    group.per_task.gpu_model = sizes.gpus->value.gpu_model;
  }
  if (sizes.tasks_per_gpu || sizes.cpus_per_gpu || sizes.memory_per_gpu) {
    return contradiction(Place{"command line", 0, 0},
                         "--ntasks-per-gpu, --cpus-per-gpu and --mem-per-gpu cannot change a job "
                         "of this kind: use --gpus-per-task, -c and --mem");
  }
  return {};
}

}  // namespace dove::jobfiles
