// NodeAuthority: the certificates of the cluster's nodes, and what a node is told with one.
//
// A node's certificate says "dove://CLUSTER/node/NAME" and is good for a day: it is proof of the
// name for as long as the ledger knows the node, whose token is asked for as well. It names no host
// or address: a node says itself where it is, and could name the server's place. What reads from
// nodes and knows no URIs, such as Prometheus, asks for kNameOfNodes, which all of them have and
// no server has: clients that verify the host's name take no node for it. While one
// authority follows another (`dove ca rotate`), nodes get certificates of the next, and are told to
// believe both. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/tls/authority.h"
#include "wire/tls/psk.h"

namespace dove::listener {

// In the domain that nobody registers (ICANN's .internal), so that no site has a host of this name.
inline constexpr char kNameOfNodes[] = "node.dove.internal";

// No certificate of a node lives longer, whatever its server was told.
inline constexpr std::int64_t kNodeCertificateMost_s = std::int64_t{365} * 24 * 3600;

class NodeAuthority {
 public:
  // `is_shown`: people's port has a certificate of this authority too.
  NodeAuthority(wire::Authority authority, std::string cluster_id, std::int64_t valid_s,
                bool is_shown)
      : authority_(std::move(authority)),
        cluster_id_(std::move(cluster_id)),
        valid_s_(valid_s),
        is_shown_(is_shown),
        psks_(authority_) {}

  // Where nodes with a certificate call.
  void listens_at(std::uint16_t port) { agents_port_ = port; }
  std::string uri_of(const std::string& node) const {
    return "dove://" + cluster_id_ + "/node/" + node;
  }
  // The node whose URI that is; none: no node's of this cluster.
  std::optional<std::string> node_of(std::string_view uri) const;
  // Whose certificates the server shows, and who signs those of nodes in its place, if anybody.
  // `certified` is called for each node that gets one of the next's.
  void follow(wire::Authority shown, std::optional<wire::Authority> next,
              std::function<void(const std::string& node)> certified);
  // The token as a machine gets it: with the digest of the authority, so that it knows the server
  // from the first byte. The part before the '.' is the secret.
  std::string join_token(const std::string& secret) const {
    return is_shown_ ? secret + '.' + authority_.digest() : secret;
  }
  // By which a machine that asks for such a token knows the server; "": by others' authorities.
  std::string shown_digest() const { return is_shown_ ? authority_.digest() : ""; }
  // What a node gets for its request: {"certificate", "authority", "agents_port"}, and a "psk"
  // (wire/tls/psk.h) for as long. `key_digest`: of the key that it must be for; "": any. Errors:
  // bad_request; kDenied another_key.
  Result<nlohmann::json> certify(const std::string& request_pem, const std::string& node,
                                 const std::string& key_digest, std::int64_t now_s) const;

 private:
  wire::Authority authority_;
  std::optional<wire::Authority> next_;
  std::function<void(const std::string& node)> certified_;
  std::string cluster_id_;
  std::int64_t valid_s_ = 0;
  bool is_shown_ = false;
  std::uint16_t agents_port_ = 0;
  wire::PskIssuer psks_;  // of who signs
};

}  // namespace dove::listener
