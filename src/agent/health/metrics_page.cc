#include "agent/health/metrics_page.h"

#include <utility>

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

}  // namespace

MetricsPage::MetricsPage(wire::Loop& loop, const Agent& agent, HostPaths paths)
    : agent_(agent), paths_(std::move(paths)), listener_(loop, [this] { return text(); }) {}

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
