// LaunchPipeline: attempts between their launch order and the moment when they become active.
//
// Each goes through the stages below in order, skips those that it does not need, and ends in one
// of three ways: it is handed on; it is refused, and the controller is told why, once; or it is
// dropped, and the controller hears nothing. Until then nothing of it is on disk: after a restart
// its order comes again. What follows (needs, secrets, image) belongs to ActiveAttempt, because it
// must survive a restart. Owned by Agent. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/devices/device_allocator.h"
#include "agent/devices/slice_cutter.h"
#include "agent/health/preflight.h"
#include "model/node.h"
#include "model/placement.h"
#include "protocol/reports.h"

namespace dove::agent {

class LaunchPipeline {
 public:
  enum class Stage {
    kPreflight,  // the node and the network are tried
    kCut,        // devices are cut into slices, or made whole
    kAllocate,   // vendor plug-ins are asked
    kHold,       // it is handed on
  };
  struct Host {
    std::function<std::unique_ptr<Preflight>(
        const LaunchOrder&, std::function<void(std::optional<PreflightFailure>)> done)>
        preflight;
    // Placements of what is held and has not ended, beside which devices are cut.
    std::function<std::vector<const Placement*>()> held;
    std::function<void(LaunchOrder order, const std::string& text)> hold;
    std::function<void(protocol::Report)> report;
  };

  // The others outlive it.
  LaunchPipeline(SliceCutter& cutter, DeviceAllocator& allocator, const Inventory& inventory,
                 Host host);

  // Begins; an order that comes again while its attempt is under way is the same one.
  // `has_networks`: LaunchOrder::has_network.
  void launch(AttemptKey key, const nlohmann::json& line, std::string text, bool has_networks);
  // It is not to start any more. Repeats do nothing.
  void drop(AttemptKey key);
  void drop_all();

  // Where the attempt is; nothing: it is not under way.
  std::optional<Stage> stage(AttemptKey key) const;
  // Those that the digest of held attempts counts.
  std::vector<AttemptKey> counted() const;

 private:
  struct Launch {
    LaunchOrder order;
    std::string text;
    Stage stage = Stage::kPreflight;
    std::unique_ptr<Preflight> preflight;
  };
  void enter(AttemptKey key, Stage stage);
  void tried(AttemptKey key, const std::optional<PreflightFailure>& failure);
  void passed(AttemptKey key, Stage next, const Result<void>& result);
  void hand_on(AttemptKey key);

  SliceCutter& cutter_;
  DeviceAllocator& allocator_;
  const Inventory& inventory_;
  const Host host_;
  std::map<AttemptKey, Launch> launches_;
};

}  // namespace dove::agent
