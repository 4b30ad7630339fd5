#include "server/executors/executor_metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "codec/words.h"
#include "core/state/executors/foreign.h"

namespace dove::server {
namespace {

using Kind = telemetry::Exposition::Kind;

constexpr std::array kNodeStates{ExecutorNodeState::kUp, ExecutorNodeState::kDrained,
                                 ExecutorNodeState::kDown};
constexpr std::array kStages{PlaceholderStage::kWanted, PlaceholderStage::kAsked,
                             PlaceholderStage::kConfirmed, PlaceholderStage::kRefused,
                             PlaceholderStage::kReleased};

struct Sums {
  std::map<ExecutorNodeState, int> nodes;
  std::map<PlaceholderStage, int> placeholders;
  std::int64_t allocations = 0;
  std::int64_t devices = 0;
  std::int64_t cores = 0;
};

void add_node(const core::Node& node, std::map<std::string, Sums>& sums) {
  for (const core::NodeExecutor& executor : node.executors) {
    Sums& sum = sums[executor.name];
    ++sum.nodes[executor.state];
    for (const ForeignAllocation& one : executor.foreign) {
      if (core::is_to_come(executor, one)) continue;
      ++sum.allocations;
      sum.devices += static_cast<std::int64_t>(one.devices.size());
      sum.cores += static_cast<std::int64_t>(one.cores.size());
    }
  }
}

}  // namespace

void add_executors(const core::State& state, telemetry::Exposition& out) {
  if (state.executors.empty()) return;
  std::map<std::string, Sums> sums;
  for (const auto& [name, executor] : state.executors) sums[name];  // also of those without nodes
  for (const core::Node& node : state.nodes) {
    if (!node.removed) add_node(node, sums);
  }
  for (const auto& [key, placeholder] : state.placeholders) {
    ++sums[key.executor].placeholders[placeholder.stage];
  }
  out.family("dove_executor_answers", Kind::kGauge,
             "1 while its adapter says all that the executor runs, else 0.");
  for (const auto& [name, sum] : sums) {
    const auto standing = state.standings.find(name);
    const bool answers = standing != state.standings.end() &&
                         standing->second.contact == ExecutorContact::kAnswering;
    out.add({{"executor", name}}, answers ? 1 : 0);
  }
  out.family("dove_executor_nodes", Kind::kGauge, "Its nodes, by what it says of them.");
  for (auto& [name, sum] : sums) {
    for (const ExecutorNodeState each : kNodeStates) {
      out.add({{"executor", name}, {"state", std::string(codec::word(each))}}, sum.nodes[each]);
    }
  }
  out.family("dove_executor_placeholders", Kind::kGauge, "Placeholders in it, by their stage.");
  for (auto& [name, sum] : sums) {
    for (const PlaceholderStage each : kStages) {
      out.add({{"executor", name}, {"stage", std::string(codec::word(each))}},
              sum.placeholders[each]);
    }
  }
  const auto each_foreign = [&](const char* family, const char* about, std::int64_t Sums::*amount) {
    out.family(family, Kind::kGauge, about);
    for (const auto& [name, sum] : sums) {
      out.add({{"executor", name}}, static_cast<double>(sum.*amount));
    }
  };
  each_foreign("dove_executor_foreign_allocations",
               "What it runs on our nodes for others, each node counted.", &Sums::allocations);
  each_foreign("dove_executor_foreign_devices", "Devices that these hold.", &Sums::devices);
  each_foreign("dove_executor_foreign_cores", "Cores that these hold.", &Sums::cores);
}

}  // namespace dove::server
