#include "agent/devices/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace dove::agent {
namespace {

using devices::Card;
using devices::Fabric;

// Nearest first.
constexpr std::array<const char*, 5> kPaths = {"PIX", "PXB", "PHB", "NODE", "SYS"};
constexpr std::size_t kPathNode = 3;

bool names(const std::vector<std::string>& plane, const Card& card) {
  return std::any_of(plane.begin(), plane.end(), [&](const std::string& name) {
    return name == card.name ||
           std::find(card.interfaces.begin(), card.interfaces.end(), name) != card.interfaces.end();
  });
}

bool is_for_peers(const Planes& planes, const Card& card) {
  if (!card.is_active) return false;
  if (!planes.gpu.empty()) return names(planes.gpu, card);
  return !names(planes.user, card) && !names(planes.storage, card);
}

// Index into kPaths.
std::size_t distance(const Fabric& fabric, const Inventory& inventory, std::size_t device,
                     std::size_t card) {
  if (device < fabric.paths.size() && card < fabric.paths[device].size()) {
    const auto known = std::find(kPaths.begin(), kPaths.end(), fabric.paths[device][card]);
    if (known != kPaths.end()) return static_cast<std::size_t>(known - kPaths.begin());
  }
  const bool same_numa = device < inventory.devices.size() &&
                         inventory.devices[device].numa_node == fabric.cards[card].numa_node;
  return same_numa ? kPathNode : kPaths.size() - 1;
}

// How far a device may be from its card for the two to talk directly, as NCCL names it: never from
// one socket to another.
std::string direct_level(const Fabric& fabric, const Inventory& inventory,
                         const std::vector<std::size_t>& cards,
                         const std::vector<DeviceGrant>& grants) {
  std::size_t level = 0;
  for (const DeviceGrant& grant : grants) {
    std::size_t nearest = kPaths.size() - 1;
    for (const std::size_t card : cards) {
      nearest = std::min(nearest,
                         distance(fabric, inventory, static_cast<std::size_t>(grant.device), card));
    }
    level = std::max(level, nearest);
  }
  return kPaths[std::min<std::size_t>(level, 2)];
}

std::string list(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

Error bad_planes(const std::string& part) {
  return Error{
      ErrorKind::kInvalid, "bad_setting",
      fmt::format("--planes: '{}' is not of the form user=eth0,storage=ib4,gpu=ib0+ib1", part),
      "--planes"};
}

}  // namespace

Result<Planes> parse_planes(const std::string& text) {
  Planes planes;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    std::vector<std::string>* const plane = name == "user"      ? &planes.user
                                            : name == "storage" ? &planes.storage
                                            : name == "gpu"     ? &planes.gpu
                                                                : nullptr;
    if (equals == std::string::npos || plane == nullptr || !plane->empty()) return bad_planes(part);
    std::stringstream interfaces(part.substr(equals + 1));
    for (std::string each; std::getline(interfaces, each, '+');) {
      const bool plain = !each.empty() && std::all_of(each.begin(), each.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
      });
      if (!plain) return bad_planes(part);
      plane->push_back(each);
    }
    if (plane->empty()) return bad_planes(part);
  }
  return planes;
}

std::vector<std::string> cards_by_distance(const Fabric& fabric, const Planes& planes,
                                           const Inventory& inventory,
                                           const std::vector<DeviceGrant>& grants) {
  std::vector<std::pair<std::size_t, std::size_t>> cards;  // distance, index
  for (std::size_t i = 0; i < fabric.cards.size(); ++i) {
    if (!is_for_peers(planes, fabric.cards[i])) continue;
    std::size_t nearest = kPaths.size();
    for (const DeviceGrant& grant : grants) {
      nearest =
          std::min(nearest, distance(fabric, inventory, static_cast<std::size_t>(grant.device), i));
    }
    cards.emplace_back(nearest, i);
  }
  std::sort(cards.begin(), cards.end());
  std::vector<std::string> names;
  for (const auto& [nearest, i] : cards) names.push_back(fabric.cards[i].name);
  return names;
}

std::vector<std::size_t> cards_for(const Fabric& fabric, const Planes& planes,
                                   const Inventory& inventory,
                                   const std::vector<DeviceGrant>& grants,
                                   const std::vector<std::string>* own) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < fabric.cards.size(); ++i) {
    const Card& card = fabric.cards[i];
    const bool may = own == nullptr || std::find(own->begin(), own->end(), card.name) != own->end();
    if (may && is_for_peers(planes, card)) open.push_back(i);
  }
  if (grants.empty()) return open;
  std::vector<std::size_t> chosen;
  for (const DeviceGrant& grant : grants) {
    const auto device = static_cast<std::size_t>(grant.device);
    std::size_t nearest = kPaths.size();
    for (const std::size_t card : open) {
      nearest = std::min(nearest, distance(fabric, inventory, device, card));
    }
    for (const std::size_t card : open) {
      if (distance(fabric, inventory, device, card) == nearest) chosen.push_back(card);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::map<std::string, std::string> fabric_environment(const Fabric& fabric, const Planes& planes,
                                                      const Inventory& inventory,
                                                      const std::vector<DeviceGrant>& grants,
                                                      bool has_peers,
                                                      const std::vector<std::string>* own) {
  std::map<std::string, std::string> e;
  if (own != nullptr) e["DOVE_NICS"] = list(*own);
  if (!planes.user.empty()) e["DOVE_PLANE_USER"] = list(planes.user);
  if (!planes.storage.empty()) e["DOVE_PLANE_STORAGE"] = list(planes.storage);
  if (!planes.gpu.empty()) e["DOVE_PLANE_GPU"] = list(planes.gpu);
  if (!has_peers) return e;
  const std::vector<std::size_t> cards = cards_for(fabric, planes, inventory, grants, own);
  if (!cards.empty()) {
    std::vector<std::string> ports;
    for (const std::size_t card : cards) {
      ports.push_back(fmt::format("{}:{}", fabric.cards[card].name, fabric.cards[card].port));
    }
    e["NCCL_IB_HCA"] = "=" + list(ports);  // these, not what begins like them
    e["UCX_NET_DEVICES"] = list(ports);
    if (!grants.empty()) {
      e["NCCL_NET_GDR_LEVEL"] = direct_level(fabric, inventory, cards, grants);
    }
  } else {
    e["NCCL_IB_DISABLE"] = "1";
  }
  // Rendezvous, and all traffic where there are no cards.
  const auto& plain = cards.empty() && !planes.gpu.empty() ? planes.gpu : planes.user;
  if (!plain.empty()) {
    e["NCCL_SOCKET_IFNAME"] = "=" + list(plain);
    e["GLOO_SOCKET_IFNAME"] = plain.front();
  }
  return e;
}

}  // namespace dove::agent
