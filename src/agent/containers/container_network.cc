#include "agent/containers/container_network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char kMounted[] = ".ns";
constexpr std::uint64_t kNumbers = (1U << 24) - 1;  // of VXLANs, 1 to 2^24 - 1

Error no_network(const std::string& message) {
  return Error{ErrorKind::kInvalid, "no_gang_network",
               message + "; or the job asks for the machine's (--container-network host)",
               "container.network"};
}

}  // namespace

Result<std::shared_ptr<const containers::Network>> network_of(const LaunchOrder& order,
                                                              const std::string& node) {
  auto network = std::make_shared<containers::Network>();
  network->number = static_cast<std::uint32_t>(order.key.job.value % kNumbers) + 1;
  std::set<std::string> machines;
  for (const PeerNode& peer : order.nodes) {
    if (peer.ranks.empty()) continue;
    in_addr address{};
    if (order.nodes.size() > 1 && ::inet_pton(AF_INET, peer.underlay.c_str(), &address) != 1) {
      return no_network(fmt::format(
          "the gang's network needs an IPv4 address of node {}, not '{}' (--address of its agent)",
          peer.name, peer.underlay));
    }
    if (!machines.insert(peer.underlay).second) {
      return no_network(fmt::format(
          "node {} has the address {} of another node of the gang; a gang's network needs nodes "
          "with addresses of their own (--address of the agents)",
          peer.name, peer.underlay));
    }
    if (peer.name == node) network->here = network->nodes.size();
    network->nodes.push_back({peer.name, peer.underlay, peer.ranks});
    for (const Rank rank : peer.ranks) {
      if (rank >= containers::kNetworkRanks_max) {
        return no_network(
            fmt::format("the gang has more than {} tasks", containers::kNetworkRanks_max));
      }
    }
  }
  if (network->nodes.empty()) return no_network("the gang has no tasks");
  return {std::move(network)};
}

std::string file_name(std::string mark) {
  for (char& c : mark) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return mark;
}

ContainerNetworks::ContainerNetworks(std::string directory) : directory_(std::move(directory)) {
  std::error_code error;
  fs::create_directories(directory_, error);
  fs::permissions(directory_, fs::perms::owner_all, error);
}

std::string ContainerNetworks::path(const std::string& attempt) const {
  return directory_ + "/" + file_name(attempt);
}

bool ContainerNetworks::is_there(const std::string& attempt) const {
  return ::access(path(attempt).c_str(), F_OK) == 0;
}

// Whole or not at all: a container that starts may read it now.
Result<void> ContainerNetworks::describe(const std::string& attempt,
                                         const containers::Network& network,
                                         const std::string& egress) {
  const std::string name = path(attempt);
  if (is_there(attempt)) return {};
  return files::write_atomically(name, containers::network_text(network) + egress, 0644);
}

void ContainerNetworks::use(const std::string& attempt) { ++used_[attempt]; }

void ContainerNetworks::release(const std::string& attempt) {
  const auto found = used_.find(attempt);
  if (found == used_.end() || --found->second > 0) return;
  used_.erase(found);
  remove(path(attempt));
}

void ContainerNetworks::remove(const std::string& path) {
  const std::string mounted = path + kMounted;
  if (::umount2(mounted.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT) {
    telemetry::log(telemetry::Level::kWarning, "network_not_removed",
                   {{"network", mounted}, {"why", std::strerror(errno)}});
  }
  ::unlink(mounted.c_str());
  ::unlink(path.c_str());
}

void ContainerNetworks::sweep(const std::function<bool(const std::string& attempt)>& is_needed) {
  std::set<std::string> attempts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::string name = entry.path().filename().string();
    for (const char* const end : {kMounted, ".new"}) {
      if (name.ends_with(end)) name.resize(name.size() - std::strlen(end));
    }
    attempts.insert(name);
  }
  for (const std::string& attempt : attempts) {
    if (is_needed(attempt)) continue;
    ::unlink((directory_ + "/" + attempt + ".new").c_str());
    remove(directory_ + "/" + attempt);
  }
}

}  // namespace dove::agent
