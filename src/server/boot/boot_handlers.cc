// How nodes boot that keep nothing across a reboot: their script, and the token with which they
// join again.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "core/state/boot/boots.h"
#include "server/boot/boot_script.h"
#include "server/context.h"
#include "server/handlers.h"
#include "text/network.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::int64_t kWithinMost_s = 24 * 3600;
constexpr int kPrivilegedPorts = 1024;

Error bad_name() {
  return invalid("bad_name", "a node's name is letters, digits and _.-@, at most 64", "name");
}

// 0 where the address has none, as on the server's own socket.
int port_of(std::string_view peer) {
  int port = 0;
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string_view::npos) return 0;
  std::from_chars(peer.data() + colon + 1, peer.data() + peer.size(), port);
  return port;
}

// Without brackets, which an address of IPv6 has beside a port.
std::string_view address_of(const wire::Request& request) {
  std::string_view host = listener::host_of_peer(request.peer_address);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

Error boot_refused(const char* code, std::string message) {
  return Error{ErrorKind::kDenied, code, std::move(message), ""};
}

// A stranger learns nothing about the node: not that it is known, nor that its boot is armed.
Result<const BootConfig*> config_for(const core::State& state, const std::string& node,
                                     const wire::Request& request) {
  const BootConfig* config = core::boot_config_of(state, node);
  const std::string_view host = address_of(request);
  const auto holds = [&](const std::string& network) {
    const auto parsed = text::parse_network(network);
    return parsed && text::network_holds(*parsed, host);
  };
  if (config == nullptr || std::none_of(config->from.begin(), config->from.end(), holds)) {
    return boot_refused(
        "boot_not_from_here",
        fmt::format("no BootConfig lets {} ask for a token of node {}", host, node));
  }
  if (config->from_root && port_of(request.peer_address) >= kPrivilegedPorts) {
    return boot_refused("boot_not_from_root",
                        "this is asked as root, from a port below 1024 (curl --local-port 1-1023), "
                        "unless the BootConfig has `from_root: false`");
  }
  if (config->secret_sha256.empty()) return config;
  const Result<std::string> shown = listener::Identity::token_digest(request);
  if (shown.ok() && wire::equal_constant_time(*shown, config->secret_sha256)) return config;
  return boot_refused(
      "boot_secret_wrong",
      fmt::format("the secret of BootConfig {} is needed as bearer token", config->name));
}

std::string authority_of(const Context& context) {
  const auto& nodes = context.desk.options.nodes;
  return nodes == nullptr ? "" : nodes->shown_digest();
}

}  // namespace

void arm_boot(Context& context, CallPtr call) {
  const std::string& name = call->parameters[0];
  if (!listener::is_name(name)) return call->fail(bad_name());
  std::int64_t within_s = 900;
  const Result<void> read = call->read_body(
      [&](codec::JsonFields& fields) { fields.integer("within_s", within_s, 0, kWithinMost_s); });
  if (!read.ok()) return call->fail(read.error());
  const Instant until = within_s == 0 ? Instant{} : context.desk.now() + seconds(within_s);
  const Call& asked = *call;
  context.desk.submit(asked, BootArmed{name, until},
                      [call, name, until](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        Json answer{{"node", name}};
                        codec::put_instant(answer, "until", until);
                        call->reply(200, answer);
                      });
}

void get_boot_script(Context& context, CallPtr call) {
  const std::string& name = call->parameters[0];
  if (!listener::is_name(name)) return call->fail(bad_name());
  const BootConfig* config = core::boot_config_of(context.state(), name);
  if (config == nullptr) {
    return call->fail(Error{ErrorKind::kNotFound, "no_boot_config",
                            fmt::format("no BootConfig names node {}", name), "name"});
  }
  call->responder->send({200,
                         {{"Content-Type", "text/plain; charset=utf-8"}},
                         boot_script(*config, name, authority_of(context))});
}

void issue_boot_token(Context& context, CallPtr call) {
  const std::string& name = call->parameters[0];
  if (!listener::is_name(name)) return call->fail(bad_name());
  const std::string host(address_of(call->request));
  const auto refuse = [&context, call](const Error& error) {
    if (error.kind != ErrorKind::kDenied) return call->fail(error);
    // With its brackets: by them the throttle knows an address of IPv6.
    const std::string_view peer = listener::host_of_peer(call->request.peer_address);
    call->fail(context.desk.throttle->failed(peer, error, context.desk.loop.monotonic_us()));
  };
  const Result<const BootConfig*> config = config_for(context.state(), name, call->request);
  if (!config.ok()) return refuse(config.error());
  const Result<void> read = call->read_body([](codec::JsonFields&) {});
  if (!read.ok()) return call->fail(read.error());
  const std::string token = wire::random_token(32);
  const Instant expires_at = context.desk.now() + (*config)->token_lifetime;
  controller::Input input;
  StampedEvent event{BootTokenIssued{wire::sha256_hex(token), name, expires_at, host},
                     call->cause()};
  event.cause.principal = "boot:" + name;
  input.events.push_back(std::move(event));
  context.desk.submit(
      std::move(input), [call, refuse, name, token, expires_at,
                         nodes = context.desk.options.nodes](const Result<Committed>& committed) {
        if (!committed.ok()) return refuse(committed.error());
        Json answer{{"token", nodes == nullptr ? token : nodes->join_token(token)}, {"node", name}};
        codec::put_instant(answer, "expires_at", expires_at);
        call->reply(201, answer);
      });
}

}  // namespace dove::server
