#include "listener/node_authority.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "wire/tls/psk.h"
#include "wire/tls/sealed_box.h"

namespace dove::listener {

Result<nlohmann::json> NodeAuthority::certify(const std::string& request_pem,
                                              const std::string& node, std::int64_t now_s) const {
  wire::Grant grant;
  grant.uri = uri_of(node);
  grant.now_s = now_s;
  grant.valid_s = valid_s_;
  const wire::Authority& signer = next_ ? *next_ : authority_;
  TRY_ASSIGN(std::string certificate, signer.issue(request_pem, grant));
  const wire::Psk psk = wire::PskIssuer(signer).issue(grant.uri, grant.now_s + grant.valid_s);
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

void NodeAuthority::follow(wire::Authority shown, std::optional<wire::Authority> next,
                           std::function<void(const std::string& node)> certified) {
  authority_ = std::move(shown);
  next_ = std::move(next);
  certified_ = std::move(certified);
}

}  // namespace dove::listener
