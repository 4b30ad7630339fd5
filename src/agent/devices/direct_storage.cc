#include "agent/devices/direct_storage.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "files/text_file.h"

namespace dove::agent {
namespace {

constexpr const char kConfigInside[] = "/dev/.dove-cufile.json";
constexpr const char kConfigName[] = "CUFILE_ENV_PATH_JSON";

bool is_of(const std::vector<std::string>& plane, const devices::Card& card) {
  const auto named = [&](const std::string& name) {
    return std::find(plane.begin(), plane.end(), name) != plane.end();
  };
  return named(card.name) || std::any_of(card.interfaces.begin(), card.interfaces.end(), named);
}

bool is_for_storage(const Planes& planes, const devices::Card& card) {
  if (!card.is_active) return false;
  if (!planes.storage.empty()) return is_of(planes.storage, card);
  return !is_of(planes.user, card) && !is_of(planes.gpu, card);
}

}  // namespace

std::vector<std::string> addresses_of(const std::string& interface) {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if (interface != one->ifa_name) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) {
      found.emplace_back(text);
    }
  }
  ::freeifaddrs(all);
  std::sort(found.begin(), found.end());
  return found;
}

std::string cufile_config(
    const devices::Fabric& fabric, const Planes& planes,
    const std::function<std::vector<std::string>(const std::string& interface)>& addresses) {
  if (fabric.storage_files.empty()) return "";
  nlohmann::json list = nlohmann::json::array();
  for (const devices::Card& card : fabric.cards) {
    if (!is_for_storage(planes, card)) continue;
    for (const std::string& interface : card.interfaces) {
      for (const std::string& address : addresses(interface)) list.push_back(address);
    }
  }
  if (list.empty()) return "";
  return codec::dump_json({{"properties", {{"rdma_dev_addr_list", std::move(list)}}}}) + "\n";
}

Result<std::string> write_cufile_config(const std::string& path, const std::string& text) {
  if (text.empty()) {
    ::unlink(path.c_str());
    return std::string();
  }
  TRY(files::write_atomically(path, text, 0644));
  return path;
}

void use_direct_storage(const devices::Fabric& fabric, const std::string& config, TaskPlan& plan) {
  const std::vector<std::string>& files = fabric.storage_files;
  plan.device_nodes.insert(plan.device_nodes.end(), files.begin(), files.end());
  if (config.empty() || files.empty()) return;
  const bool contained = !plan.container.image.empty();
  const bool is_new =
      plan.environment.try_emplace(kConfigName, contained ? kConfigInside : config).second;
  if (is_new && contained) plan.shared.push_back({config, kConfigInside, false});
}

}  // namespace dove::agent
