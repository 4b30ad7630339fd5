#include "sim/published/openb_published_fgd.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dove::sim {
namespace {

// Why a task of the mix cannot use what is idle, in the order in which the program adds them up.
enum Cause { kLacksBoth, kLacksDevices, kLacksCpu, kWantsNone, kWantsNoneLacksCpu, kNoAccess };

std::int64_t to_score(double saved_milli) {
  return static_cast<std::int64_t>(1 / (1 + std::exp(-saved_milli / 1000)) * 100);
}

}  // namespace

OpenbPublishedFgd::OpenbPublishedFgd(std::unique_ptr<const core::Scorer> exact,
                                     const OpenbTrace& trace)
    : exact_(std::move(exact)) {
  double covered = 0;
  for (const core::MixEntry& entry : trace.typical) covered += static_cast<double>(entry.count);
  const auto all = static_cast<double>(trace.tasks);
  for (const core::MixEntry& entry : trace.typical) {
    typical_.push_back({entry.shape, static_cast<double>(entry.count) / all / (covered / all)});
    cpu_steps_.push_back(entry.shape.cpu_milli);
  }
  std::sort(cpu_steps_.begin(), cpu_steps_.end());
}

double OpenbPublishedFgd::fragmentation(const core::FreeState& node, std::int64_t cpu_milli) const {
  std::array<double, 6> sums = {};
  const auto idle = static_cast<double>(node.gpus_milli());
  for (const Typical& it : typical_) {
    const bool has_cpu = cpu_milli >= it.shape.cpu_milli;
    if (it.shape.devices == 0) {
      sums[has_cpu ? kWantsNone : kWantsNoneLacksCpu] += it.part * idle;
      continue;
    }
    if ((it.shape.models >> node.node_class.model & 1) == 0) {
      sums[kNoAccess] += it.part * idle;
      continue;
    }
    std::int32_t enough = 0;
    std::int64_t too_small_milli = 0;
    for (std::int32_t milli : node.devices_milli) {
      if (milli >= it.shape.device_milli) {
        ++enough;
      } else {
        too_small_milli += milli;
      }
    }
    if (enough < it.shape.devices) {
      sums[has_cpu ? kLacksDevices : kLacksBoth] += it.part * idle;
    } else if (!has_cpu) {
      sums[kLacksCpu] += it.part * idle;
    } else {
      sums[kLacksDevices] += it.part * static_cast<double>(too_small_milli);
    }
  }
  double sum = 0;
  for (double cause : sums) sum += cause;
  return sum;
}

core::Score OpenbPublishedFgd::score(const core::FreeState& node,
                                     const core::TaskShape& task) const {
  if (task.devices > 0) return exact_->score(node, task);
  const std::int64_t after_milli = node.cpu_milli - task.cpu_milli;
  const auto step = [&](std::int64_t cpu_milli) {
    return std::upper_bound(cpu_steps_.begin(), cpu_steps_.end(), cpu_milli);
  };
  core::Score score = exact_->score(node, task);
  constexpr std::int64_t kTie = 50;
  if (score.value != kTie || step(node.cpu_milli) == step(after_milli)) return score;
  const double saved = fragmentation(node, node.cpu_milli) - fragmentation(node, after_milli);
  score.value = to_score(saved);
  return score;
}

}  // namespace dove::sim
