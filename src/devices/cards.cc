#include "devices/cards.h"

#include <algorithm>
#include <filesystem>

#include "devices/sys_files.h"

namespace dove::devices {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t kPortsMax = 16;

// "0000:18:00.0" of a link to the PCI device that the card is.
std::string bus_id_of(const fs::path& device) {
  std::error_code error;
  std::string name = fs::canonical(device, error).filename().string();
  return !error && std::count(name.begin(), name.end(), ':') == 2 ? name : "";
}

void read_ports(const fs::path& card, Card& out) {
  for (std::int32_t port = 1; port <= kPortsMax; ++port) {
    const fs::path at = card / "ports" / std::to_string(port);
    const std::string state = first_line(at / "state");
    if (state.empty()) return;
    out.is_infiniband = out.is_infiniband || first_line(at / "link_layer") == "InfiniBand";
    if (out.is_active || state.find("ACTIVE") == std::string::npos) continue;
    out.is_active = true;
    out.port = port;
  }
}

}  // namespace

std::vector<Card> find_cards(const std::string& sys_root) {
  const fs::path all = fs::path(sys_root) / "class" / "infiniband";
  std::vector<Card> cards;
  for (const std::string& name : names_in(all)) {
    const fs::path at = all / name;
    Card card;
    card.name = name;
    card.pci_bus_id = bus_id_of(at / "device");
    card.numa_node = static_cast<std::int32_t>(
        std::max<std::int64_t>(first_number(at / "device" / "numa_node").value_or(-1), -1));
    read_ports(at, card);
    card.interfaces = names_in(at / "device" / "net");
    for (const char* kind : {"infiniband_mad", "infiniband_verbs"}) {
      for (const std::string& file : names_in(at / "device" / kind)) {
        card.files.push_back("/dev/infiniband/" + file);
      }
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

// Character devices without a parent lie in a folder of their class.
std::vector<std::string> find_direct_storage(const std::string& sys_root) {
  const fs::path all = fs::path(sys_root) / "devices" / "virtual";
  std::vector<std::string> files;
  for (const std::string& of_class : names_in(all)) {
    if (!of_class.starts_with("nvidia-fs")) continue;
    for (const std::string& name : names_in(all / of_class)) {
      if (name.starts_with("nvidia-fs")) files.push_back("/dev/" + name);
    }
  }
  return files;
}

}  // namespace dove::devices
