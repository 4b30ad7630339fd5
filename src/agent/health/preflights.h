// Preflights: creates the preflight of an attempt (preflight.h), and keeps what all of them share
// on this node.
//
// It keeps the latest memory readings of the devices, which show whether a device is idle, and
// listens for the rings of other nodes. Owned by Agent. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/health/preflight.h"
#include "agent/health/ring.h"
#include "agent/session/uplink.h"
#include "devices/readings.h"
#include "model/node.h"
#include "wire/loop.h"

namespace dove::agent {

class Preflights {
 public:
  struct Options {
    std::string node;
    std::string address;  // where rings of other nodes come in
    std::string shared_directory;
    PreflightOptions each;
    Aside aside = {};
  };
  using Done = std::function<void(std::optional<PreflightFailure>)>;

  // `uplink` and `inventory` outlive it.
  Preflights(wire::Loop& loop, Uplink& uplink, const Inventory& inventory, Options options);

  // Listens for rings, unless it does. What goes wrong is logged: preflights go without rings.
  void listen();
  int port() const;  // where it listens; 0: nowhere
  // What devices said a moment ago.
  void saw(const std::vector<devices::DeviceSample>& samples);
  // See Preflight. It does not outlive this.
  std::unique_ptr<Preflight> begin(const LaunchOrder& order, Done done);

 private:
  std::string busy_device(const Placement& placement) const;

  wire::Loop& loop_;
  Uplink& uplink_;
  const Inventory& inventory_;
  const Options options_;
  std::unique_ptr<RingHub> hub_;
  std::map<std::string, double> device_used_mib_;  // by uuid
};

}  // namespace dove::agent
