// The agent's preflights: before an attempt is held, its node and the network are tried.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

constexpr double kMib = 1 << 20;
constexpr double kIdle = 0.05;  // of its memory a device may have in use while it is idle

}  // namespace

void Agent::listen_for_rings() {
  hub_ = std::make_unique<RingHub>(loop_);
  const auto serving = uplink_.serving(Uplink::Callers::kNodes);
  const Result<void> listens =
      serving.ok() ? hub_->listen(options_.address, *serving) : Result<void>(serving.error());
  if (listens.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "no_ring",
                 {{"address", options_.address}, {"why", listens.error().message}});
  hub_.reset();
}

// Until it is over the attempt is held by nobody: its order comes again if we die.
void Agent::try_and_launch(LaunchOrder order, std::string text) {
  PreflightContext context;
  context.node = options_.name;
  context.inventory = &inventory_;
  context.shared_directory = options_.shared_directory;
  context.hub = hub_.get();
  if (uplink_.secure()) {
    context.toward = [this](const std::string& node) { return uplink_.toward(node); };
  }
  context.busy = [this](const Placement& placement) { return busy_device(placement); };
  const AttemptKey key = order.key;
  preflights_[key] = std::make_unique<Preflight>(
      loop_, options_.preflight, std::move(context), order,
      [this, order, text = std::move(text)](const std::optional<PreflightFailure>& failure) {
        preflight_ended(order, text, failure);
      });
}

void Agent::preflight_ended(const LaunchOrder& order, const std::string& text,
                            const std::optional<PreflightFailure>& failure) {
  preflights_.erase(order.key);
  if (!failure) return begin_launch(order, text);
  telemetry::log(telemetry::Level::kWarning, "preflight_failed",
                 {{"attempt", order.key.text()},
                  {"check", failure->check},
                  {"peer", failure->peer},
                  {"why", failure->evidence}});
  reports_.emplace_back(
      protocol::PreflightOver{order.key, failure->peer, failure->check, failure->evidence});
  post_flush(0);
}

void Agent::saw(const std::vector<devices::DeviceSample>& samples) {
  if (use_ != nullptr) use_->saw(samples);
  device_used_mib_.clear();
  for (const devices::DeviceSample& sample : samples) {
    const double* used = sample.find(devices::Field::kMemoryUsed);
    if (used != nullptr) device_used_mib_[sample.uuid] = *used;
  }
}

// Of devices that are the placement's alone.
std::string Agent::busy_device(const Placement& placement) const {
  for (const DeviceGrant& grant : placement.devices) {
    if (grant.is_slice() || grant.share_milli < kWholeDevice_milli) continue;
    const auto index = static_cast<std::size_t>(grant.device);
    if (index >= inventory_.devices.size()) continue;
    const Device& device = inventory_.devices[index];
    const auto used = device_used_mib_.find(device.uuid);
    if (used == device_used_mib_.end() || device.memory_bytes <= 0) continue;
    if (used->second * kMib <= kIdle * static_cast<double>(device.memory_bytes)) continue;
    return fmt::format("device {} is not idle: {:.0f} MiB of it are in use", grant.device,
                       used->second);
  }
  return "";
}

}  // namespace dove::agent
