#include "agent/health/metrics_page.h"

#include <fmt/format.h>

#include <charconv>

#include "agent/devices/device_metrics.h"
#include "telemetry/metrics.h"

namespace dove::agent {
namespace {

using Kind = telemetry::Exposition::Kind;

void add_agent(const Agent& agent, telemetry::Exposition& out) {
  out.family("dove_agent_connected", Kind::kGauge,
             "1: the agent has a session with its controller.");
  out.add({}, agent.connected() ? 1 : 0);
  int preparing = 0;
  int running = 0;
  for (const auto& [key, attempt] : agent.active()) {
    preparing += attempt->stage() < ActiveAttempt::Stage::kStarted ? 1 : 0;
    running += attempt->stage() == ActiveAttempt::Stage::kStarted ? 1 : 0;
  }
  out.family("dove_agent_attempts", Kind::kGauge, "Attempts that the node holds, by stage.");
  out.add({{"stage", "preparing"}}, preparing);
  out.add({{"stage", "running"}}, running);
  int lost = 0;
  for (const Device& device : agent.inventory().devices) lost += device.kind == "lost" ? 1 : 0;
  out.family("dove_agent_devices", Kind::kGauge, "Devices of the node, lost ones too.");
  out.add({}, static_cast<double>(agent.inventory().devices.size()));
  out.family("dove_agent_devices_lost", Kind::kGauge, "Devices that are not there at the moment.");
  out.add({}, lost);
}

wire::ServerLimits page_limits() {
  wire::ServerLimits limits;
  limits.header_bytes = 8 << 10;
  limits.body_bytes = 0;
  limits.connections_max = 64;
  limits.handshakes_max = 64;
  limits.handshakes_peer_max = limits.peer_max = 16;
  limits.idle_timeout = std::chrono::minutes(5);  // scrapers keep theirs between two looks
  return limits;
}

}  // namespace

MetricsPage::MetricsPage(wire::Loop& loop, const Agent& agent, HostPaths paths)
    : agent_(agent),
      paths_(std::move(paths)),
      server_(
          loop, page_limits(),
          [this](const wire::Request& request, const std::shared_ptr<wire::Responder>& responder) {
            if (request.method != "GET" || request.path != "/metrics") {
              return responder->send(wire::problem(
                  404, Error{ErrorKind::kNotFound, "not_found", "there is only /metrics", ""}));
            }
            responder->send(wire::Response{
                200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, text()});
          }) {}

bool MetricsPage::is_local(const std::string& address) {
  return address.empty() || address.starts_with("127.") || address.starts_with("localhost:") ||
         address.starts_with("[::1]:");
}

Result<void> MetricsPage::listen(const std::string& address, std::shared_ptr<const wire::Tls> tls) {
  const std::size_t colon = address.rfind(':');
  std::uint16_t port = 0;
  const char* const end = address.data() + address.size();
  const bool well = colon != std::string::npos &&
                    std::from_chars(address.data() + colon + 1, end, port).ptr == end;
  if (!well) {
    return Error{ErrorKind::kInvalid, "bad_setting",
                 fmt::format("'{}' is not of the form HOST:PORT", address), "--metrics"};
  }
  return server_.listen(address.substr(0, colon), port, std::move(tls));
}

std::string MetricsPage::text() const {
  telemetry::Exposition out;
  std::vector<DeviceHolder> holders;
  for (const auto& [key, attempt] : agent_.active()) {
    if (attempt->stage() == ActiveAttempt::Stage::kEnded) continue;
    for (DeviceHolder& holder : device_holders(attempt->order(), agent_.slices()))
      holders.push_back(std::move(holder));
  }
  add_device_metrics(agent_.name(), agent_.inventory(), samples_, holders, out);
  add_host_metrics(paths_, out);
  add_agent(agent_, out);
  return out.text() + telemetry::metrics().render();
}

}  // namespace dove::agent
