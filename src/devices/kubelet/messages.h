// The messages of the kubelet's device-plug-in protocol v1beta1, to and from protocol buffers'
// bytes.
//
// Written out by hand: a dozen small messages do not need a generator and its library. The protocol
// in full is tests/e2e/device_plugin.proto, by which the tests' counterpart is generated. Fields
// that are not known are passed over. Values; any thread.
//
// Source: Kubernetes' device-plug-in API v1beta1; Protocol Buffers encoding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::devices::kubelet {

struct RegisterRequest {
  std::string version;        // "v1beta1"
  std::string endpoint;       // name of its socket, beside ours
  std::string resource_name;  // "nvidia.com/gpu"
};
Result<RegisterRequest> read_register_request(const std::string& bytes);

struct PluginOptions {
  bool pre_start_required = false;
};
Result<PluginOptions> read_plugin_options(const std::string& bytes);

struct ListedDevice {
  std::string id;
  bool is_healthy = false;
  std::int32_t numa_node = -1;  // the first that it names; -1: none
  bool operator==(const ListedDevice&) const = default;
};
Result<std::vector<ListedDevice>> read_device_list(const std::string& bytes);

// For one container.
std::string allocate_request(const std::vector<std::string>& ids);
std::string pre_start_request(const std::vector<std::string>& ids);

struct PluginMount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  bool operator==(const PluginMount&) const = default;
};
struct PluginFile {
  std::string container_path;
  std::string host_path;
  bool operator==(const PluginFile&) const = default;
};
// What a container that is given the devices needs.
struct Allocation {
  std::map<std::string, std::string> environment;
  std::vector<PluginMount> mounts;
  std::vector<PluginFile> files;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
};
Result<Allocation> read_allocation(const std::string& bytes);

}  // namespace dove::devices::kubelet
