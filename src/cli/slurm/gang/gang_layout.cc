#include "cli/slurm/gang/gang_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kTasksMax = 100'000;

bool names(const json& list, const std::string& node) {
  return std::find(list.begin(), list.end(), json(node)) != list.end();
}

Result<std::vector<std::size_t>> usable_nodes(const json& sizes,
                                              const std::vector<NodeInSlurm>& nodes) {
  const json listed = sizes.value("nodelist", json::array());
  const json excluded = sizes.value("exclude", json::array());
  for (const json& name : listed) {
    const bool is_known = std::any_of(nodes.begin(), nodes.end(),
                                      [&](const NodeInSlurm& node) { return name == node.name; });
    if (!is_known) {
      return usage_error(fmt::format("--nodelist: {} is no node of the job", name.dump()));
    }
  }
  std::vector<std::size_t> usable;
  const auto skipped = static_cast<std::size_t>(sizes.value("relative", std::int64_t{0}));
  for (std::size_t i = skipped; i < nodes.size(); ++i) {
    if (!listed.empty() && !names(listed, nodes[i].name)) continue;
    if (!names(excluded, nodes[i].name)) usable.push_back(i);
  }
  const auto wanted = static_cast<std::size_t>(sizes.value("nodes", std::int64_t{0}));
  if (usable.empty() || wanted > usable.size()) {
    return usage_error(
        fmt::format("the step asks for {} nodes, and may use {} of the job's {}: see --nodes, "
                    "--nodelist, --exclude and --relative",
                    std::max<std::size_t>(wanted, 1), usable.size(), nodes.size()));
  }
  const auto tasks = static_cast<std::size_t>(sizes.value("tasks", std::int64_t{0}));
  std::size_t taken = usable.size();
  for (const std::size_t limit : {wanted, tasks}) {
    if (limit > 0) taken = std::min(taken, limit);
  }
  // Where Slurm would find CPUs that are free; what is named is taken in order.
  if (taken < usable.size() && listed.empty() && skipped == 0) {
    std::stable_sort(usable.begin(), usable.end(),
                     [&](std::size_t a, std::size_t b) { return nodes[a].load < nodes[b].load; });
    std::sort(usable.begin(), usable.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  usable.resize(taken);
  return usable;
}

// One for each node, then node after node up to what it has; more are spread, which Slurm's srun
// takes with --overcommit.
std::vector<std::int64_t> tasks_on_each(std::vector<std::int64_t> room, std::int64_t tasks) {
  std::vector<std::int64_t> given(room.size(), 1);
  std::int64_t left = tasks - static_cast<std::int64_t>(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::int64_t more = std::clamp<std::int64_t>(room[i] - 1, 0, left);
    given[i] += more;
    left -= more;
  }
  for (std::size_t i = 0; left > 0; i = (i + 1) % given.size(), --left) ++given[i];
  return given;
}

}  // namespace

Result<std::vector<NodeTasks>> gang_layout(const json& sizes,
                                           const std::vector<NodeInSlurm>& nodes) {
  TRY_ASSIGN(std::vector<std::size_t> usable, usable_nodes(sizes, nodes));
  const std::int64_t of_node = sizes.value("tasks_per_node", std::int64_t{0});
  const std::int64_t cpus =
      std::max<std::int64_t>(sizes.value("cores_per_task", std::int64_t{1}), 1);
  std::int64_t tasks = sizes.value("tasks", std::int64_t{0});
  if (tasks == 0 && sizes.value("devices", json::object()).contains("tasks_per_device")) {
    return usage_error("--ntasks-per-gpu of a step on several nodes needs --ntasks or --gpus");
  }
  std::vector<std::int64_t> own, room;
  std::int64_t all_own = 0;
  for (const std::size_t i : usable) {
    own.push_back(of_node > 0 ? of_node : std::max<std::int64_t>(nodes[i].tasks, 1));
    room.push_back(of_node > 0 ? of_node : nodes[i].cpus / cpus);
    all_own += own.back();
  }
  if (of_node > 0 && tasks > all_own) {
    return usage_error(fmt::format("{} tasks are more than {} on each of {} nodes", tasks, of_node,
                                   usable.size()));
  }
  if (std::max(tasks, all_own) > kTasksMax) return usage_error("a step has 100000 tasks at most");
  const bool is_jobs = tasks == 0 || tasks == all_own;
  const std::vector<std::int64_t> each = is_jobs ? own : tasks_on_each(room, tasks);
  std::vector<NodeTasks> layout;
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    layout.push_back(
        {usable[i], static_cast<std::int32_t>(each[i]), static_cast<std::int32_t>(rank)});
    rank += each[i];
  }
  return layout;
}

}  // namespace dove::cli
