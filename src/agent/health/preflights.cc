#include "agent/health/preflights.h"

#include <fmt/format.h>

#include <utility>

#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr double kMib = 1 << 20;
constexpr double kIdle = 0.05;  // of its memory a device may have in use while it is idle

}  // namespace

Preflights::Preflights(wire::Loop& loop, Uplink& uplink, const Inventory& inventory,
                       Options options)
    : loop_(loop), uplink_(uplink), inventory_(inventory), options_(std::move(options)) {}

void Preflights::listen() {
  if (hub_ != nullptr) return;
  hub_ = std::make_unique<RingHub>(loop_);
  const auto serving = uplink_.serving(Uplink::Callers::kNodes);
  const Result<void> listens =
      serving.ok() ? hub_->listen(options_.address, *serving) : Result<void>(serving.error());
  if (listens.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "no_ring",
                 {{"address", options_.address}, {"why", listens.error().message}});
  hub_.reset();
}

int Preflights::port() const { return hub_ == nullptr ? 0 : hub_->port(); }

void Preflights::saw(const std::vector<devices::DeviceSample>& samples) {
  device_used_mib_.clear();
  for (const devices::DeviceSample& sample : samples) {
    const double* used = sample.find(devices::Field::kMemoryUsed);
    if (used != nullptr) device_used_mib_[sample.uuid] = *used;
  }
}

std::unique_ptr<Preflight> Preflights::begin(const LaunchOrder& order, Done done) {
  PreflightContext context;
  context.node = options_.node;
  context.inventory = &inventory_;
  context.shared_directory = options_.shared_directory;
  context.hub = hub_.get();
  context.aside = options_.aside;
  if (uplink_.secure()) {
    context.toward = [this](const std::string& node) { return uplink_.toward(node); };
  }
  context.busy = [this](const Placement& placement) { return busy_device(placement); };
  return std::make_unique<Preflight>(loop_, options_.each, std::move(context), order,
                                     std::move(done));
}

// Only devices that are the placement's alone: others may rightly be in use by other holders.
std::string Preflights::busy_device(const Placement& placement) const {
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
