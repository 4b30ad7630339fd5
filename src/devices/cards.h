// Cards: network cards with direct access to memory (InfiniBand, RoCE), as the kernel lists them in
// /sys/class/infiniband.
//
// Source: Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dove::devices {

struct Card {
  std::string name;        // "mlx5_0"
  std::string pci_bus_id;  // "0000:18:00.0"; "" when it has none
  std::int32_t numa_node = -1;
  std::int32_t port = 1;                // the first that is active
  bool is_active = false;               // some port is
  bool is_infiniband = false;           // else the link is Ethernet
  std::vector<std::string> interfaces;  // of the network: "ib0"; ascending
  std::vector<std::string> files;       // in /dev, absolute; ascending
  bool operator==(const Card&) const = default;
};

// Ascending by name; none where the kernel knows of none. `sys_root` is "/sys", but for tests.
std::vector<Card> find_cards(const std::string& sys_root);

// The files in /dev of NVIDIA's nvidia-fs, by which files are read straight into GPUs; ascending,
// none where its driver is not loaded.
std::vector<std::string> find_direct_storage(const std::string& sys_root);

// What is in a machine besides its inventory: the cards, and how far each device is from each.
struct Fabric {
  std::vector<Card> cards;
  // By device id, then by card, as Link::kind names paths: "PIX", "PXB", "PHB", "NODE", "SYS"; ""
  // when it is not known.
  std::vector<std::vector<std::string>> paths;
  std::vector<std::string> storage_files = {};  // see find_direct_storage
};

}  // namespace dove::devices
