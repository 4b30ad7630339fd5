#include "containers/network.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::containers {
namespace {

constexpr std::uint32_t kFirst = 0x6440'0010;  // 100.64.0.16

std::uint32_t address_of(std::uint32_t rank) { return kFirst + rank; }

// A node's device is known by its first task's address, after a prefix of locally administered
// ones.
std::string link_address(const NetworkNode& node) {
  const std::uint32_t address = address_of(node.ranks.front());
  return fmt::format("02:64:{:02x}:{:02x}:{:02x}:{:02x}", address >> 24, (address >> 16) & 255,
                     (address >> 8) & 255, address & 255);
}

}  // namespace

std::string network_address(std::uint32_t rank) {
  const std::uint32_t address = address_of(rank);
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                     address & 255);
}

std::string network_host(std::uint32_t rank) {
  return rank == 0 ? "main1" : fmt::format("sub{}", rank);
}

std::string hosts_text(const Network& network) {
  std::string text = "127.0.0.1 localhost\n::1 localhost\n";
  for (const NetworkNode& node : network.nodes) {
    for (const std::uint32_t rank : node.ranks) {
      text += fmt::format("{} {} rank{}", network_address(rank), network_host(rank), rank);
      text += rank == node.ranks.front() ? fmt::format(" {}\n", node.name) : "\n";
    }
  }
  return text;
}

std::map<std::string, std::string> session_environment(const Network& network, std::uint32_t rank) {
  std::vector<std::uint32_t> ranks;
  for (const NetworkNode& node : network.nodes) {
    ranks.insert(ranks.end(), node.ranks.begin(), node.ranks.end());
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> hosts;
  for (const std::uint32_t one : ranks) hosts.push_back(network_host(one));
  const std::string subs = ranks.size() > 1 ? fmt::format(",sub:{}", ranks.size() - 1) : "";
  return {{"BACKENDAI_CLUSTER_SIZE", std::to_string(ranks.size())},
          {"BACKENDAI_CLUSTER_HOST", network_host(rank)},
          {"BACKENDAI_CLUSTER_HOSTS", fmt::format("{}", fmt::join(hosts, ","))},
          {"BACKENDAI_CLUSTER_ROLE", rank == 0 ? "main" : "sub"},
          {"BACKENDAI_CLUSTER_IDX", std::to_string(rank == 0 ? 1 : rank)},
          {"BACKENDAI_CLUSTER_LOCAL_RANK", std::to_string(rank)},
          {"BACKENDAI_CLUSTER_REPLICAS", "main:1" + subs}};
}

std::string network_text(const Network& network) {
  const NetworkNode& mine = network.nodes[network.here];
  std::string text = fmt::format("number {}\nlocal {}\nmac {}\n", network.number, mine.underlay,
                                 link_address(mine));
  for (const std::uint32_t rank : mine.ranks) {
    text += fmt::format("address {}\n", network_address(rank));
  }
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (i == network.here) continue;
    const NetworkNode& node = network.nodes[i];
    for (const std::uint32_t rank : node.ranks) {
      text +=
          fmt::format("peer {} {} {}\n", network_address(rank), node.underlay, link_address(node));
    }
  }
  return text;
}

}  // namespace dove::containers
