// MetricsPage: GET /metrics of an agent, for Prometheus: devices with the work that holds them,
// host, cgroups, and the agent itself.
//
// Everything is looked up on request, except the devices, which are sampled at their own interval.
// The number of series follows devices, holders and interfaces. There is no authentication: listen
// on an address that only permitted clients can reach. Clients get small limits, because they are
// scrapers. Loop thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/health/host_metrics.h"
#include "devices/readings.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::agent {

class MetricsPage {
 public:
  // `agent` outlives the page.
  MetricsPage(wire::Loop& loop, const Agent& agent, HostPaths paths);

  // Whether nobody else can reach it, as it is nowhere or on loopback.
  static bool is_local(const std::string& address);
  // "127.0.0.1:9400", over TLS where that is given.
  Result<void> listen(const std::string& address, std::shared_ptr<const wire::Tls> tls = nullptr);
  void saw(std::vector<devices::DeviceSample> samples) { samples_ = std::move(samples); }
  std::string text() const;

 private:
  const Agent& agent_;
  HostPaths paths_;
  std::vector<devices::DeviceSample> samples_;
  wire::Server server_;
};

}  // namespace dove::agent
