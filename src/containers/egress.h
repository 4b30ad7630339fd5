// Egress: how containers in a gang network reach the world and the controllers.
//
// Each such network on a node has a pair of devices: the name of the node's end begins with
// `device`, the network's end is out0 with an address of kOutRange, which the node translates to
// its own. The network's own table of routes says where a container may connect: without a route
// there is no destination. What the node itself must enforce (translation; no path into networks,
// between them, or to the node) is one table of nftables with the agent's own name.
//
// Sources: nft(8), RFC 6598. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::containers {

inline constexpr const char kOutRange[] = "100.112.0.0/12";  // behind the addresses of ranks
inline constexpr const char kGateway[] = "100.112.0.1";      // of every network; nobody has it
inline constexpr const char kEgressDevice[] = "out0";        // inside

// Where a controller of the cluster is, as the node sees it.
struct ControllerPlace {
  std::string address;  // IPv4; "": not known
  std::uint16_t port = 0;
  bool tls = false;
  std::string host = {};  // as its certificate may name it; "": by its address

  bool on_loopback() const { return address.starts_with("127."); }
};

struct Egress {
  std::string nft;                  // the program; absolute
  std::string rules;                // file with what rules_text() says
  std::string table;                // in nftables
  std::string device;               // the node's ends are called this and a number
  std::vector<std::string> routes;  // "10.0.0.0/8"
};

// "yes" (everywhere), "no", or networks with commas. Errors (kInvalid) show the form.
Result<std::vector<std::string>> parse_routes(const std::string& given);

// Names of table and devices, so that agents on one machine have different ones.
void name_egress(const std::string& directory, Egress& egress);

// For nft -f: replaces the table whole, or fails whole.
std::string rules_text(const Egress& egress, const std::vector<ControllerPlace>& controllers);

// As dove-contain reads it, after network_text(): "way DEVICE TABLE", "nft PATH", "rules PATH",
// "route NETWORK", "closed NETWORK". These words stay: another version's agent may write them.
std::string egress_text(const Egress& egress);

// Where the controllers are reached inside, in their order, with commas; "": where the node does.
std::string controllers_inside(const std::vector<ControllerPlace>& controllers);
// The routes to those that are not on this machine's loopback.
std::vector<std::string> routes_to(const std::vector<ControllerPlace>& controllers);

// /etc/resolv.conf of such a container: the node's without resolvers on its loopback or with IPv6.
// Without any left, `upstream` is taken (what the node's own resolver asks), in the same way.
std::string resolver_text(const std::string& node, const std::string& upstream);

// IPv4 addresses of the resolvers in such a text.
std::vector<std::string> resolvers_in(const std::string& text);

}  // namespace dove::containers
