// Metrics of a node's devices, with the names and labels of DCGM's exporter and with labels of the
// work that holds each device.
//
// A device has one series for each attempt that holds it or a part of it, with the labels job,
// task, queue, project, user and share (thousandths of the device), and one for each of its slices.
// These labels are empty when nobody holds it. The exporter's labels for pods of Kubernetes
// (namespace, pod, container, hpc_job) name the same work. All series of a device have the value of
// the whole device: `max by (UUID)` counts each device once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/devices/slice_cutter.h"
#include "devices/readings.h"
#include "model/node.h"
#include "telemetry/exposition.h"

namespace dove::agent {

// A device, or a part of one, that an attempt holds.
struct DeviceHolder {
  std::int32_t device = 0;
  std::string job;
  std::string task;  // ranks that see it: "0", "0-3"
  std::string queue;
  std::string project;
  std::string user;
  std::int32_t share_milli = 0;
  std::string slice;  // "START:SIZE:COMPUTE", or ""
  std::string job_name;
  std::string slice_profile;   // "1g.18gb", or ""
  std::string slice_instance;  // its number, or ""
};

// `slices`: those that devices are cut into at the moment.
std::vector<DeviceHolder> device_holders(const LaunchOrder& order, const Slices& slices);

// All samples are of devices of the inventory; others are left out.
void add_device_metrics(const std::string& node, const Inventory& inventory,
                        const std::vector<devices::DeviceSample>& samples,
                        const std::vector<DeviceHolder>& holders, telemetry::Exposition& out);

}  // namespace dove::agent
