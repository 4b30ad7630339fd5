#include "core/state/executors/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "text/feature_expression.h"
#include "text/hostlist.h"

namespace dove::core {

bool names_node(const Executor& executor, std::string_view name) {
  return text::any_hostlist_holds(executor.nodes, name);
}

const NodeExecutor* find_executor(const Node& node, std::string_view name) {
  for (const NodeExecutor& executor : node.executors) {
    if (executor.name == name) return &executor;
  }
  return nullptr;
}

bool takes_jobs(const NodeExecutor& executor) {
  return executor.state == ExecutorNodeState::kUp &&
         executor.contact == ExecutorContact::kAnswering;
}

bool closes_node(const NodeExecutor& executor) {
  // Somebody took the node out of service over there; that holds for our work as well.
  if (executor.state == ExecutorNodeState::kDrained) return true;
  // Where a placeholder is needed, nothing could start without an executor that answers. An
  // executor that is only observed closes nothing by being silent.
  return executor.placeholders && (executor.state == ExecutorNodeState::kDown ||
                                   executor.contact != ExecutorContact::kAnswering);
}

const NodeExecutor* closing_executor(const Node& node) {
  for (const NodeExecutor& executor : node.executors) {
    if (closes_node(executor)) return &executor;
  }
  return nullptr;
}

std::string closing_text(const NodeExecutor& executor) {
  const std::string why = executor.why.empty() ? "" : fmt::format(" ({})", executor.why);
  if (executor.state == ExecutorNodeState::kDrained) {
    return fmt::format("{}: drained there{}", executor.name, why);
  }
  // Contact before state: what a silent adapter said last may be old.
  switch (executor.contact) {
    case ExecutorContact::kSilent:
      return fmt::format("{}: its adapter is silent", executor.name);
    case ExecutorContact::kMute:
      return fmt::format("{}: it does not answer its adapter", executor.name);
    case ExecutorContact::kAnswering:
      break;
  }
  return fmt::format("{}: down there{}", executor.name, why);
}

bool meets(const Node& node, std::string_view wish) {
  const auto names = [wish](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(), [wish](const std::string& feature) {
      return text::wishes_for(wish, feature);
    });
  };
  return names(node.declared.features) ||
         std::any_of(node.executors.begin(), node.executors.end(),
                     [&](const NodeExecutor& executor) { return names(executor.features); });
}

std::vector<std::string> features_of(const Node& node) {
  std::set<std::string> said;
  for (const NodeExecutor& executor : node.executors) {
    said.insert(executor.features.begin(), executor.features.end());
  }
  std::vector<std::string> all = node.declared.features;
  for (const std::string& feature : all) said.erase(feature);
  all.insert(all.end(), said.begin(), said.end());
  return all;
}

bool only_gets_room(const State& state, const JobSpec& spec) {
  if (spec.foreign_job.empty()) return false;
  const auto declared = state.executors.find(spec.executor);
  // At a gate it waits for the place that it is given.
  return declared != state.executors.end() && !declared->second.gate;
}

bool has_foreign(const Node& node) {
  return std::any_of(node.executors.begin(), node.executors.end(),
                     [](const NodeExecutor& executor) {
                       return !std::all_of(
                           executor.foreign.begin(), executor.foreign.end(),
                           [&](const ForeignAllocation& one) { return is_to_come(executor, one); });
                     });
}

CoreSet foreign_cores(const Node& node) {
  CoreSet cores;
  each_foreign(node,
               [&](const NodeExecutor&, const ForeignAllocation& one) { cores |= one.cores; });
  return cores;
}

bool is_device_foreign(const Node& node, std::size_t device) {
  for (const NodeExecutor& executor : node.executors) {
    for (const ForeignAllocation& one : executor.foreign) {
      if (is_to_come(executor, one)) continue;
      const auto found =
          std::find(one.devices.begin(), one.devices.end(), static_cast<std::int32_t>(device));
      if (found != one.devices.end()) return true;
    }
  }
  return false;
}

std::int64_t foreign_memory(const Node& node) {
  std::int64_t bytes = 0;
  each_foreign(
      node, [&](const NodeExecutor&, const ForeignAllocation& one) { bytes += one.memory_bytes; });
  return bytes;
}

bool has_to_come(const Node& node) {
  return std::any_of(node.executors.begin(), node.executors.end(), [](const NodeExecutor& each) {
    return std::any_of(each.foreign.begin(), each.foreign.end(),
                       [&](const ForeignAllocation& one) { return is_to_come(each, one); });
  });
}

std::string foreign_text(const NodeExecutor& executor, const ForeignAllocation& allocation) {
  const std::string of = allocation.user.empty() ? "" : " of " + allocation.user;
  return fmt::format("{} job {}{}", executor.name, allocation.id, of);
}

std::string device_list(const std::vector<std::int32_t>& devices) {
  std::string text;
  for (const std::int32_t device : devices) {
    text += (text.empty() ? "" : ",") + std::to_string(device);
  }
  return text;
}

}  // namespace dove::core
