#include "containers/egress.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "wire/address.h"

namespace dove::containers {
namespace {

constexpr const char kEverywhere[] = "0.0.0.0/0";
constexpr const char kMetadata[] = "169.254.0.0/16";  // of clouds, and their resolvers
// Nobody's business: that, and what gangs' networks use.
constexpr const char* kClosed[] = {kMetadata, "100.64.0.0/10"};
constexpr int kBits = 32;

bool is_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return false;
  in_addr address{};
  if (::inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1) return false;
  const std::string bits = text.substr(slash + 1);
  if (bits.empty() || bits.size() > 2 ||
      bits.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  const int length = std::stoi(bits);
  if (length > kBits) return false;
  const std::uint64_t beyond = (std::uint64_t{1} << (kBits - length)) - 1;
  return (ntohl(address.s_addr) & beyond) == 0;
}

bool is_reached(const std::string& resolver) {
  in_addr address{};
  return ::inet_pton(AF_INET, resolver.c_str(), &address) == 1 && !resolver.starts_with("127.");
}

// The text with the resolvers that a container can reach.
std::string reachable(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    words >> key >> value;
    if (key == "nameserver" && !is_reached(value)) continue;
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

Result<std::vector<std::string>> parse_routes(const std::string& given) {
  if (given == "yes") return std::vector<std::string>{kEverywhere};
  std::vector<std::string> routes;
  if (given == "no") return routes;
  std::stringstream words(given);
  for (std::string word; std::getline(words, word, ',');) {
    if (!is_network(word)) {
      return Error{ErrorKind::kInvalid, "bad_setting",
                   fmt::format("'{}' is no network; write yes, no, or networks such as "
                               "10.0.0.0/8,192.168.7.0/24",
                               word),
                   ""};
    }
    if (std::find(routes.begin(), routes.end(), word) == routes.end()) routes.push_back(word);
  }
  return routes;
}

void name_egress(const std::string& directory, Egress& egress) {
  std::uint32_t hash = 2'166'136'261U;  // FNV-1a
  for (const char c : directory) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  const std::string name = fmt::format("{:06x}", hash & 0xff'ffff);
  egress.table = "dovetail_" + name;
  egress.device = "dv" + name + "-";
}

std::string rules_text(const Egress& egress, const std::vector<ControllerPlace>& controllers) {
  const std::string ours = fmt::format("iifname \"{}*\"", egress.device);
  const std::string theirs = fmt::format("oifname \"{}*\"", egress.device);
  std::string lead_in;
  std::string to_node = fmt::format("    {} ct state established,related accept\n", ours);
  for (const ControllerPlace& one : controllers) {
    if (one.on_loopback()) {
      lead_in += fmt::format("    {} ip daddr {} tcp dport {} dnat ip to {}:{}\n", ours, kGateway,
                             one.port, one.address, one.port);
      to_node += fmt::format("    {} ct status dnat tcp dport {} accept\n", ours, one.port);
    } else if (!one.address.empty()) {
      to_node +=
          fmt::format("    {} ip daddr {} tcp dport {} accept\n", ours, one.address, one.port);
    }
  }
  to_node += fmt::format("    {} meta l4proto {{ tcp, udp }} th dport 53 accept\n", ours);
  to_node += fmt::format("    {} reject with icmpx admin-prohibited\n", ours);
  const std::string table = "inet " + egress.table;
  std::string text = fmt::format("table {}\ndelete table {}\ntable {} {{\n", table, table, table);
  text += "  chain lead_in {\n    type nat hook prerouting priority dstnat; policy accept;\n" +
          lead_in + "  }\n";
  text += "  chain to_node {\n    type filter hook input priority filter; policy accept;\n" +
          to_node + "  }\n";
  text += "  chain through {\n    type filter hook forward priority filter; policy accept;\n";
  text += fmt::format("    {} ip daddr {} drop\n", ours, kOutRange);
  text += fmt::format("    {} meta nfproto ipv6 drop\n", ours);
  const auto is_metadata = [](const std::string& route) { return route.starts_with("169.254."); };
  if (std::none_of(egress.routes.begin(), egress.routes.end(), is_metadata)) {
    // One address may be both: a resolver has a route.
    text += fmt::format(
        "    {} ip daddr {} meta l4proto {{ tcp, udp }} th dport 53 accept\n    {} ip daddr {} "
        "drop\n",
        ours, kMetadata, ours, kMetadata);
  }
  // Frames for gangs' networks come from the machines alone.
  text += fmt::format("    {} udp dport 4789 drop\n", ours);
  text += fmt::format("    {} ct state established,related accept\n    {} drop\n", theirs, theirs);
  text += "  }\n  chain out {\n    type nat hook postrouting priority srcnat; policy accept;\n";
  text += fmt::format("    ip saddr {} oifname != \"{}*\" masquerade\n  }}\n}}\n", kOutRange,
                      egress.device);
  return text;
}

std::string egress_text(const Egress& egress) {
  std::string text = fmt::format("way {} {}\nnft {}\nrules {}\n", egress.device, egress.table,
                                 egress.nft, egress.rules);
  for (const std::string& route : egress.routes) text += fmt::format("route {}\n", route);
  for (const char* closed : kClosed) text += fmt::format("closed {}\n", closed);
  return text;
}

std::string controllers_inside(const std::vector<ControllerPlace>& controllers) {
  std::string urls;
  bool any_on_loopback = false;
  for (const ControllerPlace& one : controllers) {
    any_on_loopback = any_on_loopback || one.on_loopback();
    const std::string& outside = one.host.empty() ? one.address : one.host;
    if (!one.on_loopback() && outside.empty()) continue;
    const wire::Address inside{one.on_loopback() ? kGateway : outside, one.port};
    urls += fmt::format("{}{}://{}", urls.empty() ? "" : ",", one.tls ? "https" : "http",
                        inside.text());
  }
  return any_on_loopback ? urls : "";
}

std::vector<std::string> routes_to(const std::vector<ControllerPlace>& controllers) {
  std::vector<std::string> routes;
  for (const ControllerPlace& one : controllers) {
    if (one.address.empty() || one.on_loopback()) continue;
    const std::string route = one.address + "/32";
    if (std::find(routes.begin(), routes.end(), route) == routes.end()) routes.push_back(route);
  }
  return routes;
}

std::vector<std::string> resolvers_in(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    in_addr address{};
    if (!(words >> key >> value) || key != "nameserver") continue;
    if (::inet_pton(AF_INET, value.c_str(), &address) == 1) found.push_back(value);
  }
  return found;
}

std::string resolver_text(const std::string& node, const std::string& upstream) {
  const std::string own = reachable(node);
  if (!resolvers_in(own).empty()) return own;
  const std::string behind = reachable(upstream);
  return resolvers_in(behind).empty() ? own : behind;
}

}  // namespace dove::containers
