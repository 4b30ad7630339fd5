#include "agent/devices/device_metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::agent {
namespace {

using telemetry::Exposition;
using telemetry::Labels;

// "0-3,6" of ascending ranks.
std::string ranges(const std::vector<Rank>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

struct Series {
  Labels labels;
  const devices::DeviceSample* sample = nullptr;
};

Labels device_labels(const std::string& node, std::int32_t id,
                     const devices::DeviceSample& sample) {
  return {{"gpu", std::to_string(id)},
          {"UUID", sample.uuid},
          {"pci_bus_id", sample.pci_bus_id},
          {"device", fmt::format("gpu{}", id)},
          {"modelName", sample.model},
          {"Hostname", node},
          {"DCGM_FI_DRIVER_VERSION", sample.driver_version}};
}

void add_holder(const DeviceHolder& holder, Labels& labels) {
  labels.emplace_back("job", holder.job);
  labels.emplace_back("task", holder.task);
  labels.emplace_back("queue", holder.queue);
  labels.emplace_back("project", holder.project);
  labels.emplace_back("user", holder.user);
  labels.emplace_back("share", holder.job.empty() ? "" : std::to_string(holder.share_milli));
  labels.emplace_back("slice", holder.slice);
  labels.emplace_back("GPU_I_PROFILE", holder.slice_profile);
  labels.emplace_back("GPU_I_ID", holder.slice_instance);
  labels.emplace_back("namespace", holder.project);
  labels.emplace_back("pod", holder.job.empty() ? "" : "job-" + holder.job);
  labels.emplace_back("container", holder.job_name);
  labels.emplace_back("hpc_job", holder.job);
}

}  // namespace

std::vector<DeviceHolder> device_holders(const LaunchOrder& order, const Slices& slices) {
  std::vector<DeviceHolder> holders;
  for (const DeviceGrant& grant : order.placement.devices) {
    DeviceHolder holder;
    holder.device = grant.device;
    holder.job = std::to_string(order.key.job.value);
    holder.queue = order.queue;
    holder.project = order.project;
    holder.user = order.user;
    holder.job_name = order.name;
    holder.share_milli = grant.share_milli;
    if (grant.is_slice()) {
      holder.slice =
          fmt::format("{}:{}:{}", grant.slice.start, grant.slice.size, grant.slice.compute);
      const auto cut = slices.find({grant.device, grant.slice.start});
      if (cut != slices.end()) {
        holder.slice_profile = cut->second.profile;
        if (cut->second.instance >= 0) holder.slice_instance = std::to_string(cut->second.instance);
      }
    }
    std::vector<Rank> ranks;
    for (const TaskGrant& task : order.placement.tasks) {
      // What was asked per node is seen by all of its tasks.
      const bool sees =
          task.devices.empty() ||
          std::find_if(task.devices.begin(), task.devices.end(), [&](const DeviceGrant& other) {
            return other.device == grant.device && other.slice == grant.slice;
          }) != task.devices.end();
      if (sees) ranks.push_back(task.rank);
    }
    holder.task = ranges(ranks);
    holders.push_back(std::move(holder));
  }
  return holders;
}

void add_device_metrics(const std::string& node, const Inventory& inventory,
                        const std::vector<devices::DeviceSample>& samples,
                        const std::vector<DeviceHolder>& holders, Exposition& out) {
  std::vector<Series> series;
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    const auto sample = std::find_if(samples.begin(), samples.end(), [&](const auto& one) {
      return one.uuid == inventory.devices[i].uuid;
    });
    if (sample == samples.end()) continue;
    const auto id = static_cast<std::int32_t>(i);
    const std::size_t before = series.size();
    for (const DeviceHolder& holder : holders) {
      if (holder.device != id) continue;
      series.push_back({device_labels(node, id, *sample), &*sample});
      add_holder(holder, series.back().labels);
    }
    if (series.size() > before) continue;
    series.push_back({device_labels(node, id, *sample), &*sample});
    add_holder({}, series.back().labels);
  }
  for (const devices::FieldInfo& info : devices::field_infos()) {
    out.family(info.name, info.is_counter ? Exposition::Kind::kCounter : Exposition::Kind::kGauge,
               info.about);
    for (const Series& one : series) {
      const double* value = one.sample->find(info.field);
      if (value != nullptr) out.add(one.labels, *value);
    }
  }
}

}  // namespace dove::agent
