// Device plug-ins of vendors (devices/kubelet) as the agent's: settings in, edits of tasks out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/devices/device_allocator.h"
#include "base/result.h"
#include "devices/kubelet/plugged.h"
#include "devices/kubelet/plugin_host.h"
#include "programs/settings.h"
#include "wire/loop.h"

namespace dove::programs {

// "*/gpu,google.com/tpu=TPUv5:16Gi": resource, model, memory of each.
Result<std::vector<devices::kubelet::PluggedModel>> plugged_models(const std::string& text);

// Loop thread only; outlives the agent that asks it.
class PluginDevices {
 public:
  // `changed` is called after the board has heard of it.
  PluginDevices(wire::Loop& loop, std::string directory,
                std::shared_ptr<devices::kubelet::PlugBoard> board, std::function<void()> changed);
  Result<void> start() { return host_.start(); }
  agent::DeviceAllocator::Plugins plugins();

 private:
  void ask(const std::vector<std::string>& uuids, agent::DeviceAllocator::Done done);

  std::shared_ptr<devices::kubelet::PlugBoard> board_;
  devices::kubelet::PluginHost host_;
};

}  // namespace dove::programs
