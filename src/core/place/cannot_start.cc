#include "core/place/cannot_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/place/candidates.h"
#include "core/place/device_fit.h"
#include "core/place/place.h"
#include "core/state/amount.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "model/huge_pages.h"
#include "text/feature_expression.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

using Nodes = std::vector<const Node*>;

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes % kGiB == 0 || bytes > 64 * kGiB) return fmt::format("{} GiB", bytes / kGiB);
  return fmt::format("{} MiB", bytes / kMiB);
}

bool holds(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::int64_t memory_of(const Node& node) {
  // As rebuild_books counts it, with nobody on the node.
  return node.inventory->memory_bytes - node.declared.memory_reserved_bytes;
}

std::int64_t devices_of(const Node& node, const Request& request) {
  return std::count_if(node.inventory->devices.begin(), node.inventory->devices.end(),
                       [&](const Device& device) { return matches(request, device); });
}

// What the agent found and what an administrator declared add up, as in the node's books.
std::int64_t countable_of(const Node& node, const std::string& name) {
  return amount_of(node.inventory->countables, name) + amount_of(node.declared.countables, name);
}

// "4 H200", "2 A100 and 4 H200", "no GPUs".
std::string gpus_of(const Nodes& nodes) {
  std::map<std::string, std::int64_t> models;
  // By model, sorted: the sentence is the same on every run.
  for (const Node* node : nodes) {
    for (const Device& device : node->inventory->devices) {
      if (matches(Request{}, device)) ++models[std::string(device.model)];
    }
  }
  std::vector<std::string> texts;
  for (const auto& [model, count] : models) {
    texts.push_back(model.empty() ? counted(count, "GPU") : fmt::format("{} {}", count, model));
  }
  return texts.empty() ? "no GPUs" : fmt::format("{}", fmt::join(texts, " and "));
}

// How many tasks of the group the node can hold when it is empty.
std::int64_t tasks_on(const TaskGroup& group, const Node& node) {
  // A bound by each resource alone. That all fit together by id (NUMA nodes, slices, links) is not
  // asked, so "cannot start" is always true, and "can" only probable.
  std::int64_t most = group.tasks;
  const auto bound = [&](std::int64_t has, std::int64_t of_node, std::int64_t of_task) {
    // What is asked for once on each node comes off before tasks share the rest.
    if (of_node > has) most = 0;
    if (of_task > 0) most = std::min(most, std::max<std::int64_t>(has - of_node, 0) / of_task);
  };
  bound(static_cast<std::int64_t>(usable_cores(node).size()), group.per_node.cores,
        group.per_task.cores);
  bound(memory_of(node), group.per_node.memory_bytes, group.per_task.memory_bytes);
  // Shares and slices are left out: how many of them a device holds depends on its model and on the
  // others beside them.
  bound(devices_of(node, group.per_task.gpus > 0 ? group.per_task : group.per_node),
        group.per_node.gpus, group.per_task.gpus);
  for (const Countable& one : group.per_node.countables) {
    bound(countable_of(node, one.name), one.amount, 0);
  }
  for (const Countable& one : group.per_task.countables) {
    bound(countable_of(node, one.name), 0, one.amount);
  }
  return most;
}

bool can_hold(const TaskGroup& group, const Node& node) {
  // A node that holds fewer tasks than one node has to hold is of no use to the group.
  return tasks_on(group, node) >= std::max(group.tasks_per_node, 1);
}

// The fewest nodes that the shape allows. More is not asked here, as it could still be placed on
// these.
std::int64_t nodes_needed(const TaskGroup& group) {
  const std::int64_t each = group.tasks_per_node;
  return std::max<std::int64_t>(group.nodes_min, each > 0 ? (group.tasks + each - 1) / each : 1);
}

// The usual case, told by the first nodes that will do: there are enough of them.
bool is_evident(const State& state, const JobSpec& spec) {
  // With a list of nodes, which of them count is for choose() to say.
  if (!spec.nodes_wanted.empty()) return false;
  const Pool& pool = *pool_of(state, spec);
  // Counted for each group alone, as if the others were not there: they may share nodes, or not.
  std::vector<std::int64_t> nodes(spec.groups.size());
  std::vector<std::int64_t> room(spec.groups.size());
  // Stops at the first nodes that are enough. Nodes of other pools cost a comparison of names each.
  for (const Node& node : state.nodes) {
    // Drained ones do not count as evident, though they may come back: the sentence about them is
    // the caller's.
    if (node.removed || node.inventory == nullptr || node.declared.drained) continue;
    if (holds(spec.nodes_excluded, node.name) || !text::any_hostlist_holds(pool.nodes, node.name))
      continue;
    const bool has_all = std::all_of(spec.features.begin(), spec.features.end(),
                                     [&](const std::string& wish) { return meets(node, wish); });
    if (!has_all) continue;
    bool all = true;
    for (std::size_t i = 0; i < spec.groups.size(); ++i) {
      const TaskGroup& group = spec.groups[i];
      const std::int64_t tasks = tasks_on(group, node);
      if (tasks >= std::max(group.tasks_per_node, 1)) {
        ++nodes[i];
        room[i] += tasks;
      }
      all = all && nodes[i] >= nodes_needed(group) && (spec.exclusive || room[i] >= group.tasks);
    }
    // On a large cluster a few nodes answer for almost every submission; the rest of this file is
    // for refusals, and may be slow.
    if (all) return true;
  }
  return false;
}

class Finder {
 public:
  Finder(const State& state, const JobSpec& spec)
      : spec_(spec), pool_(*pool_of(state, spec)), name_("pool " + pool_.name) {
    for (const Node& node : state.nodes) {
      // Silent and drained nodes count here: they are to come back, and then the job may start.
      if (node.removed || node.inventory == nullptr) continue;
      if (text::any_hostlist_holds(pool_.nodes, node.name)) all_.push_back(&node);
    }
  }

  const Nodes& all() const { return all_; }
  const std::string& name() const { return name_; }
  // Those that the job's choice of nodes and features leaves; says so when there are none.
  std::string choose(Nodes& chosen) const;
  std::string group(const TaskGroup& group, const Nodes& chosen, Nodes& able) const;

 private:
  std::string lacks(const TaskGroup& group, const Nodes& chosen) const;
  std::string too_few(const TaskGroup& group, const Nodes& able) const;

  const JobSpec& spec_;
  const Pool& pool_;
  std::string name_;
  Nodes all_;
};

std::string Finder::choose(Nodes& chosen) const {
  // In the order in which a person would correct the file: a wrong name first.
  for (const std::string& wanted : spec_.nodes_wanted) {
    const bool known =
        std::any_of(all_.begin(), all_.end(), [&](const Node* n) { return n->name == wanted; });
    if (!known) return fmt::format("asks for node {}, which {} does not have", wanted, name_);
  }
  for (const std::string& wish : spec_.features) {
    const bool known =
        std::any_of(all_.begin(), all_.end(), [&](const Node* n) { return meets(*n, wish); });
    if (!known) {
      const bool is_one = wish.find('|') == std::string::npos;
      return fmt::format("no node of {} has {} {}", name_, is_one ? "the feature" : "a feature of",
                         wish);
    }
  }
  std::int64_t left = 0;
  for (const Node* node : all_) {
    // Where more nodes are asked for than are listed, the list is only a part of them.
    const bool only_wanted = !spec_.nodes_wanted.empty() && !wants_some(spec_);
    if (only_wanted && !holds(spec_.nodes_wanted, node->name)) continue;
    if (holds(spec_.nodes_excluded, node->name)) continue;
    ++left;
    const bool has_all = std::all_of(spec_.features.begin(), spec_.features.end(),
                                     [&](const std::string& wish) { return meets(*node, wish); });
    if (has_all) chosen.push_back(node);
  }
  if (left == 0 && !all_.empty()) {
    return fmt::format("--nodelist and --exclude leave no node of {}", name_);
  }
  if (chosen.empty() && !all_.empty()) {
    return fmt::format("no node of {} that it may use has {}", name_,
                       text::write_feature_expression(spec_.features));
  }
  return "";
}

// The resource of the group that no node has enough of, looked at alone; "" if there is none. Only
// the first is named: a list of all would hide the one to change.
std::string Finder::lacks(const TaskGroup& group, const Nodes& chosen) const {
  const auto most = [&](auto of) {
    std::int64_t found = 0;
    for (const Node* node : chosen) found = std::max<std::int64_t>(found, of(*node));
    return found;
  };
  // At least this number of tasks has to be on one node together.
  const std::int64_t tasks = std::max(group.tasks_per_node, 1);
  const std::string who =
      tasks > 1 ? fmt::format("{} on one node need", counted(tasks, "task"))
      : group.per_node.gpus + group.per_node.cores + group.per_node.memory_bytes > 0
          ? "a node must have"
          : "a task needs";
  const Request& devices = group.per_task.gpus > 0 ? group.per_task : group.per_node;
  const std::int64_t gpus = group.per_task.gpus * tasks + group.per_node.gpus;
  const std::int64_t gpus_most = most([&](const Node& n) { return devices_of(n, devices); });
  // Another model is the usual mistake, so the text names what the pool has instead.
  if (gpus > gpus_most && gpus_most == 0 && !devices.gpu_model.empty()) {
    return fmt::format("needs {} {}; {} has no {} (it has {})", gpus, devices.gpu_model, name_,
                       devices.gpu_model, gpus_of(chosen));
  }
  if (gpus > gpus_most) {
    const std::string noun = devices.gpu_model.empty() ? "GPU" : devices.gpu_model;
    return fmt::format("{} {}, and no node of {} has more than {}", who, counted(gpus, noun), name_,
                       gpus_most);
  }
  const std::int64_t cores = group.per_task.cores * tasks + group.per_node.cores;
  const std::int64_t cores_most =
      most([](const Node& n) { return static_cast<std::int64_t>(usable_cores(n).size()); });
  if (cores > cores_most) {
    return fmt::format("{} {}, and no node of {} has more than {}", who, counted(cores, "core"),
                       name_, cores_most);
  }
  const std::int64_t bytes =
      sum_of(product_of(group.per_task.memory_bytes, tasks), group.per_node.memory_bytes);
  const std::int64_t bytes_most = most([](const Node& n) { return memory_of(n); });
  if (bytes > bytes_most) {
    return fmt::format("{} {} of memory, and no node of {} has more than {}", who,
                       bytes_text(bytes), name_, bytes_text(bytes_most));
  }
  // Countables come last: few jobs ask for any, and mostly it is their name that is misspelt.
  for (const Request* request : {&group.per_task, &group.per_node}) {
    for (const Countable& one : request->countables) {
      const std::int64_t has = most([&](const Node& n) { return countable_of(n, one.name); });
      if (one.amount <= has) continue;
      // Huge pages are counted in bytes, and read as such.
      const bool is_bytes = huge_page_bytes(one.name) != 0;
      const std::string wanted = is_bytes ? bytes_text(one.amount) + " of " + one.name
                                          : fmt::format("{} {}", one.amount, one.name);
      if (has == 0) return fmt::format("needs {}; no node of {} has any", wanted, name_);
      return fmt::format("needs {} on one node, and no node of {} has more than {}", wanted, name_,
                         is_bytes ? bytes_text(has) : std::to_string(has));
    }
  }
  return "";
}

std::string Finder::too_few(const TaskGroup& group, const Nodes& able) const {
  const auto nodes = static_cast<std::int64_t>(able.size());
  // Nodes before tasks: "needs 4 nodes, has 2" says more than the sum of their tasks.
  const std::int64_t needed = nodes_needed(group);
  if (needed > nodes) {
    const bool all = nodes == static_cast<std::int64_t>(all_.size());
    return fmt::format("needs {}; {} has {}{}", counted(needed, "node"), name_, nodes,
                       all ? "" : " that can hold what it asks of each");
  }
  // Whole nodes: enough of them is enough, whatever the tasks are.
  if (spec_.exclusive) return "";
  std::int64_t room = 0;
  for (const Node* node : able) room += tasks_on(group, *node);
  if (room < group.tasks) {
    return fmt::format("needs {} at once; all nodes of {} together can hold {}",
                       counted(group.tasks, "task"), name_, room);
  }
  return "";
}

std::string Finder::group(const TaskGroup& group, const Nodes& chosen, Nodes& able) const {
  std::string why = lacks(group, chosen);
  if (!why.empty()) return why;
  for (const Node* node : chosen) {
    if (can_hold(group, *node)) able.push_back(node);
  }
  if (able.empty()) {
    return fmt::format("no node of {} has all that it asks of one node at once", name_);
  }
  return too_few(group, able);
}

}  // namespace

std::vector<std::string> cannot_start(const State& state, const JobSpec& spec) {
  if (has_wish_for_all(spec)) {
    std::vector<std::string> all;
    for (const JobSpec& one : with_each_choice(spec)) {
      std::vector<std::string> found = cannot_start(state, one);
      if (found.empty()) return {};
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  }
  // Nearly every submission ends here.
  if (is_evident(state, spec)) return {};
  const Finder finder(state, spec);
  if (finder.all().empty()) return {fmt::format("{} has no nodes", finder.name())};
  Nodes chosen;
  if (std::string why = finder.choose(chosen); !why.empty()) return {why};
  std::vector<std::string> found;
  for (const TaskGroup& group : spec.groups) {
    // Every group is reported, so that a file is corrected once.
    Nodes able;
    if (std::string why = finder.group(group, chosen, able); !why.empty()) found.push_back(why);
  }
  return found;
}

std::string all_drained(const State& state, const JobSpec& spec) {
  if (is_evident(state, spec)) return "";
  const Finder finder(state, spec);
  Nodes chosen;
  // Something else is wrong, and is told by cannot_start.
  if (!finder.choose(chosen).empty() || chosen.empty()) return "";
  std::set<std::string> reasons;
  for (const Node* node : chosen) {
    if (!node->declared.drained) return "";
    if (!node->declared.drain_reason.empty()) reasons.insert(node->declared.drain_reason);
  }
  std::string text = chosen.size() == 1   ? fmt::format("node {} is drained", chosen[0]->name)
                     : chosen.size() == 2 ? "both nodes are drained"
                                          : fmt::format("all {} nodes are drained", chosen.size());
  if (!reasons.empty()) text += fmt::format(" ({})", fmt::join(reasons, ", "));
  return text;
}

}  // namespace dove::core
