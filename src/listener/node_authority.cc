#include "listener/node_authority.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "wire/tls/sealed_box.h"

namespace dove::listener {

Result<nlohmann::json> NodeAuthority::certify(const std::string& request_pem,
                                              const std::string& node,
                                              const std::string& key_digest,
                                              std::int64_t now_s) const {
  wire::Grant grant;
  grant.uri = uri_of(node);
  grant.names = {kNameOfNodes};
  grant.now_s = now_s;
  grant.valid_s = valid_s_;
  TRY_ASSIGN(std::string certificate, (next_ ? *next_ : authority_).issue(request_pem, grant));
  // An authority's own end may be nearer.
  TRY_ASSIGN(const wire::CertificateFacts facts, wire::read_certificate(certificate));
  if (!key_digest.empty() && facts.key_digest != key_digest) {
    return Error{
        ErrorKind::kDenied, "another_key",
        fmt::format("the token of node {0} is good with the key that the node joined with, and "
                    "this is another one. If the node has lost its key, empty its agent's data "
                    "directory and let it join again (`dove join-token create {0}`). If it has "
                    "not, somebody else has its token: `dove node expel {0}`",
                    node),
        "request"};
  }
  const wire::Psk psk = psks_.issue(grant.uri, facts.not_after_s);
  std::string believed = authority_.credentials().chain_pem;
  if (next_) {
    believed += next_->credentials().chain_pem;
    if (certified_) certified_(node);
  }
  return nlohmann::json{{"certificate", std::move(certificate)},
                        {"authority", std::move(believed)},
                        {"agents_port", agents_port_},
                        {"psk", {{"identity", psk.identity}, {"key", wire::base64(psk.key)}}}};
}

std::optional<std::string> NodeAuthority::node_of(std::string_view uri) const {
  const std::string before = uri_of("");
  if (!uri.starts_with(before)) return std::nullopt;
  return std::string(uri.substr(before.size()));
}

void NodeAuthority::follow(wire::Authority shown, std::optional<wire::Authority> next,
                           std::function<void(const std::string& node)> certified) {
  authority_ = std::move(shown);
  next_ = std::move(next);
  psks_ = wire::PskIssuer(next_ ? *next_ : authority_);
  certified_ = std::move(certified);
}

}  // namespace dove::listener
