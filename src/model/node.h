// A node: one machine (or one foreign cluster seen as one) and what is in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/core_set.h"
#include "model/ids.h"
#include "model/resources.h"

namespace dove {

// A device as the agent found it. Its index in Inventory::devices is its id on the node.
struct Device {
  std::string kind = "gpu";       // family: "gpu", later "npu", ...
  std::string vendor = "nvidia";  // decides which VISIBLE_DEVICES variables tasks get
  std::string model;              // "H200", matched without case
  std::string uuid;
  std::int64_t memory_bytes = 0;
  std::int32_t numa_node = 0;
  bool operator==(const Device&) const = default;
};

// The kind of path between two devices of a node, as `nvidia-smi topo -m` names them.
struct Link {
  std::int32_t device_a = 0;
  std::int32_t device_b = 0;
  std::string kind;  // "NV18", "PIX", "SYS"
  bool operator==(const Link&) const = default;
};

struct NumaNode {
  CoreSet cores;
  std::int64_t memory_bytes = 0;
  bool operator==(const NumaNode&) const = default;
};

// What a machine has. Core ids are those of all NUMA nodes together; one core counts once.
struct Inventory {
  std::vector<NumaNode> numa;
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<Countable> countables;  // ascending by name
  std::int64_t memory_bytes = 0;
  // Containers may have a network of their gang here that leads to its other nodes.
  bool has_overlay = false;
  // The ids of hardware threads, physical core after physical core by socket, as other schedulers
  // number cores; empty: each id is a physical core, and they ascend.
  std::vector<std::int32_t> thread_order = {};
  std::int32_t threads_per_core = 1;  // of each, where there is a thread_order
  bool operator==(const Inventory&) const = default;
};

// What the controller knows of an agent's presence.
enum class Contact {
  kConnected,
  kBroken,  // its connection was closed or reset: relaunch elsewhere after fence_s
  kSilent,  // it stopped answering: relaunch elsewhere after disconnect_grace_s + fence_s
  kLost,    // the fence has passed: nothing of it can still be running
};

}  // namespace dove
