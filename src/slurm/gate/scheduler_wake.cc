#include "slurm/gate/scheduler_wake.h"

#include <algorithm>
#include <utility>

#include "slurm/gate/gate_plan.h"
#include "telemetry/log.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kConfigMax = 64 << 10;
constexpr std::int64_t kReadEvery_s = 600;
constexpr std::int64_t kReadAgain_s = 30;  // when Slurm did not answer
constexpr std::int64_t kMemory_bytes = 1 << 20;
constexpr std::int64_t kLimit_minutes = 1;

// The rest of the line "NAME = rest", whose name is "NAME" or "NAME[0]"; "": there is none.
std::string_view setting(std::string_view config, std::string_view name) {
  while (!config.empty()) {
    const std::string_view line = config.substr(0, config.find('\n'));
    config.remove_prefix(std::min(line.size() + 1, config.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || !line.starts_with(name)) continue;
    const std::string_view after = line.substr(name.size());
    if (after.front() != ' ' && after.front() != '[' && after.front() != '=') continue;
    const std::string_view value = line.substr(equals + 1);
    return value.substr(std::min(value.find_first_not_of(' '), value.size()));
  }
  return "";
}

}  // namespace

bool ends_wake(std::string_view config) {
  const std::string_view epilog = setting(config, "Epilog");
  const bool has_epilog = !epilog.empty() && !epilog.starts_with("(null)");
  return has_epilog &&
         setting(config, "SchedulerParameters").find("defer") == std::string_view::npos;
}

SchedulerWake::SchedulerWake(SlurmCluster& slurm, std::string cluster, Run run)
    : slurm_(slurm), cluster_(std::move(cluster)), run_(std::move(run)) {
  if (!run_) run_ = run_command;
}

bool SchedulerWake::helps(std::int64_t now_s) {
  if (now_s < read_again_s_) return ends_wake_;
  const Result<CommandEnd> config =
      run_({.words = {"scontrol", "show", "config"}, .output_max = kConfigMax});
  const bool is_read = config.ok() && config->code == 0;
  const bool is_first = std::exchange(read_again_s_, now_s + kReadAgain_s) == 0;
  if (!is_read) return ends_wake_;
  read_again_s_ = now_s + kReadEvery_s;
  const bool before = std::exchange(ends_wake_, ends_wake(config->output));
  if (is_first || before != ends_wake_) {
    telemetry::log(telemetry::Level::kInfo, "gate_wakes_scheduler", {{"can", ends_wake_}});
  }
  return ends_wake_;
}

void SchedulerWake::prepare(const NodeSeen& node, std::int64_t now_s) {
  if (allocation_ || !helps(now_s)) return;
  Ask ask;
  ask.name = fence_name({}, cluster_);
  ask.node = node.name;
  ask.partitions = node.partitions;
  ask.cpus = node.cpus_per_core;
  ask.memory_bytes = kMemory_bytes;
  ask.limit_minutes = kLimit_minutes;
  ask.is_marked_by_gate = true;  // unmarked it is taken for a fence, too
  const Result<std::int64_t> made = slurm_.ask(ask);
  if (made.ok()) allocation_ = *made;
}

void SchedulerWake::fire() {
  if (!allocation_) return;
  // What is not released now is released as a fence without a reason after the next look.
  (void)slurm_.release(*std::exchange(allocation_, std::nullopt));
}

}  // namespace dove::slurm
