#include "backends/native/node_keys.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

// The digest of the key that the call's token names; "": it names none.
std::string key_digest_of(const listener::Call& call) {
  const std::string_view token = call.request.header("Authorization");
  const std::size_t dot = token.rfind('.');
  return dot == std::string_view::npos ? "" : std::string(token.substr(dot + 1));
}

}  // namespace

std::string new_agent_token(const Agents& agents, const std::string& key_digest) {
  const std::string secret = wire::random_token(32);
  const bool is_bound = agents.desk.options.nodes != nullptr && !key_digest.empty();
  return is_bound ? secret + '.' + key_digest : secret;
}

// The node's key is its own: what comes is a request that the key has signed.
void certify_node(Agents& agents, CallPtr call) {
  const auto& authority = agents.desk.options.nodes;
  if (authority == nullptr) {
    return call->fail(Error{ErrorKind::kConflict, "no_tls",
                            "this controller has no TLS, and nodes need no certificate", ""});
  }
  const Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  const core::Node& node = *agents.state().find_node(call->caller.node);
  const Result<Json> answer =
      authority->certify(body->value("request", ""), node.name, key_digest_of(*call),
                         agents.desk.now().us / 1'000'000);
  if (!answer.ok()) {
    if (answer.error().kind == ErrorKind::kDenied) {
      telemetry::log(telemetry::Level::kWarning, "node_key_refused",
                     {{"node", node.name}, {"address", call->request.peer_address}});
    }
    return call->fail(answer.error());
  }
  telemetry::log(telemetry::Level::kInfo, "node_certified", {{"node", node.name}});
  call->reply(200, *answer);
}

}  // namespace dove::backends
