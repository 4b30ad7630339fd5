#include "agent/attempts/launch_pipeline.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "telemetry/log.h"

namespace dove::agent {

LaunchPipeline::LaunchPipeline(SliceCutter& cutter, DeviceAllocator& allocator,
                               const Inventory& inventory, Host host)
    : cutter_(cutter), allocator_(allocator), inventory_(inventory), host_(std::move(host)) {}

void LaunchPipeline::launch(AttemptKey key, const nlohmann::json& line, std::string text,
                            bool has_networks) {
  if (launches_.contains(key)) return;
  // What this node offers now holds for the attempt, whatever it offers when we start again.
  Result<LaunchOrder> order = read_launch_order(line, has_networks);
  if (!order.ok()) return host_.report(protocol::LaunchRefused{key, order.error().message});
  launches_[key] = Launch{std::move(order).value(), std::move(text), Stage::kPreflight, nullptr};
  enter(key, Stage::kPreflight);
}

// Enters the stage, or the first one after it that the attempt needs. The order is deliberate: a
// preflight wants devices as they were before anybody touched them, and plug-ins are asked about
// devices as they are once they are cut.
void LaunchPipeline::enter(AttemptKey key, Stage stage) {
  Launch& launch = launches_.at(key);
  launch.stage = stage;
  const Placement& placement = launch.order.placement;
  switch (stage) {
    case Stage::kPreflight:
      if (!launch.order.preflight) return enter(key, Stage::kCut);
      launch.preflight = host_.preflight(
          launch.order,
          [this, key](const std::optional<PreflightFailure>& failure) { tried(key, failure); });
      return;
    case Stage::kCut:
      if (!cutter_.needs(placement)) return enter(key, Stage::kAllocate);
      cutter_.cut(key, placement, host_.held(),
                  [this, key](const Result<void>& cut) { passed(key, Stage::kAllocate, cut); });
      return;
    case Stage::kAllocate:
      if (!allocator_.needs(placement, inventory_)) {
        allocator_.begins_without(key, placement);
        return enter(key, Stage::kHold);
      }
      // May be over before it returns, and the launch with it.
      allocator_.allocate(
          key, Placement(placement), inventory_,
          [this, key](const Result<void>& allocated) { passed(key, Stage::kHold, allocated); });
      return;
    case Stage::kHold:
      return hand_on(key);
  }
}

void LaunchPipeline::tried(AttemptKey key, const std::optional<PreflightFailure>& failure) {
  Launch& launch = launches_.at(key);  // a preflight that was dropped calls nobody
  launch.preflight.reset();
  if (!failure) return enter(key, Stage::kCut);
  launches_.erase(key);
  telemetry::log(telemetry::Level::kWarning, "preflight_failed",
                 {{"attempt", key.text()},
                  {"check", failure->check},
                  {"peer", failure->peer},
                  {"why", failure->evidence}});
  host_.report(protocol::PreflightOver{key, failure->peer, failure->check, failure->evidence});
}

// What cuts and what allocates call nobody for an attempt that was dropped; after drop_all() they
// have not been told.
void LaunchPipeline::passed(AttemptKey key, Stage next, const Result<void>& result) {
  if (!launches_.contains(key)) return;
  if (result.ok()) return enter(key, next);
  launches_.erase(key);
  host_.report(protocol::LaunchRefused{key, result.error().message});
}

// Out of the map first: who holds it may look at what is under way, or drop it.
void LaunchPipeline::hand_on(AttemptKey key) {
  Launch launch = std::move(launches_.at(key));
  launches_.erase(key);
  host_.hold(std::move(launch.order), launch.text);
}

void LaunchPipeline::drop(AttemptKey key) {
  cutter_.drop(key);
  allocator_.drop(key);
  launches_.erase(key);
}

void LaunchPipeline::drop_all() { launches_.clear(); }

std::optional<LaunchPipeline::Stage> LaunchPipeline::stage(AttemptKey key) const {
  const auto found = launches_.find(key);
  return found == launches_.end() ? std::nullopt : std::optional(found->second.stage);
}

// The ledger counts an attempt from its launch on. One whose devices are being cut is left out, as
// by all agents before: where that takes long, the controller asks for a sync, and the order that
// comes again changes nothing.
std::vector<AttemptKey> LaunchPipeline::counted() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, launch] : launches_) {
    if (launch.stage != Stage::kCut) keys.push_back(key);
  }
  return keys;
}

}  // namespace dove::agent
