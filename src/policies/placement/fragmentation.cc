#include "policies/placement/fragmentation.h"

#include <algorithm>

namespace dove::policies {
namespace {

template <class T>
void sort_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

Fragmentation::Fragmentation(std::span<const core::MixEntry> mix,
                             std::span<const core::NodeClass> classes) {
  for (const core::NodeClass& it : classes) {
    models_ = std::max(models_, static_cast<std::size_t>(it.model) + 1);
    devices_ = std::max(devices_, static_cast<std::size_t>(it.devices) + 1);
  }
  for (const core::MixEntry& entry : mix) {
    weight_ += entry.count;
    if (entry.shape.devices == 0) continue;
    // Between two amounts that tasks of the mix ask for, nothing changes: only those are steps of
    // the tables, which stay small.
    cpu_steps_.push_back(entry.shape.cpu_milli);
    if (entry.shape.is_share()) milli_steps_.push_back(entry.shape.device_milli);
  }
  sort_distinct(cpu_steps_);
  sort_distinct(milli_steps_);
  ranks_ = milli_steps_.size() + 1;
  // A look-up for each thousandth in place of a search: score is asked for each device of each
  // group of nodes.
  rank_.resize(kWholeDevice_milli + 1);
  for (std::int32_t milli = 0; milli <= kWholeDevice_milli; ++milli) {
    rank_[static_cast<std::size_t>(milli)] = static_cast<std::int32_t>(
        std::upper_bound(milli_steps_.begin(), milli_steps_.end(), milli) - milli_steps_.begin());
  }
  const std::size_t rows = models_ * (cpu_steps_.size() + 1);
  shares_.resize(rows * ranks_);
  wholes_.resize(rows * devices_);
  // Cumulative: an entry counts in every row with enough CPU, so a reader needs one row and no sum.
  for (const core::MixEntry& entry : mix) {
    if (entry.shape.devices == 0) continue;
    for (std::size_t model = 0; model < models_; ++model) {
      if ((entry.shape.models >> model & 1) != 0) add(entry, model);
    }
  }
}

void Fragmentation::add(const core::MixEntry& entry, std::size_t model) {
  const auto step = std::lower_bound(cpu_steps_.begin(), cpu_steps_.end(), entry.shape.cpu_milli);
  const std::size_t steps = cpu_steps_.size() + 1;
  // One step up: row 0 is for less CPU than any task asks for.
  for (auto cpu = static_cast<std::size_t>(step - cpu_steps_.begin()) + 1; cpu < steps; ++cpu) {
    const std::size_t row = model * steps + cpu;
    if (entry.shape.is_share()) {
      for (std::size_t rank = rank_of(entry.shape.device_milli); rank < ranks_; ++rank) {
        shares_[row * ranks_ + rank] += entry.count;
      }
    } else {
      for (auto n = static_cast<std::size_t>(entry.shape.devices); n < devices_; ++n) {
        wholes_[row * devices_ + n] += entry.count;
      }
    }
  }
}

Fragmentation::Tables Fragmentation::tables_of(std::int32_t model, std::int64_t cpu_milli) const {
  const auto step = std::upper_bound(cpu_steps_.begin(), cpu_steps_.end(), cpu_milli);
  const std::size_t row = static_cast<std::size_t>(model) * (cpu_steps_.size() + 1) +
                          static_cast<std::size_t>(step - cpu_steps_.begin());
  return {shares_.data() + row * ranks_, wholes_.data() + row * devices_};
}

std::int64_t Fragmentation::of(const core::FreeState& node) const {
  // After nothing: the same sums serve both.
  return after(node, core::TaskShape{}, core::kAnyDevice);
}

std::int64_t Fragmentation::after(const core::FreeState& node, const core::TaskShape& task,
                                  std::int32_t device) const {
  const Tables tables = tables_of(node.node_class.model, node.cpu_milli - task.cpu_milli);
  std::int64_t idle = 0;
  std::int64_t used = 0;
  std::int64_t whole = 0;
  for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
    // The device that the share goes to; any other keeps what it has.
    std::int32_t milli = node.devices_milli[i];
    if (static_cast<std::int32_t>(i) == device) milli -= task.device_milli;
    idle += milli;
    used += useful(tables, milli);
    whole += milli == kWholeDevice_milli ? 1 : 0;
  }
  if (!task.is_share()) {  // any of the whole devices: they are alike
    whole -= task.devices;
    idle -= task.gpus_milli();
    used -= task.devices * useful(tables, kWholeDevice_milli);
  }
  // Tasks of whole devices use all whole devices or, with too few of them, none.
  used += whole * kWholeDevice_milli * tables.wholes[whole];
  return idle * weight_ - used;
}

}  // namespace dove::policies
