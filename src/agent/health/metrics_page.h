// MetricsPage: GET /metrics of an agent, for Prometheus: devices with the work that holds them,
// host, cgroups, and the agent itself.
//
// Everything is looked up on request, except the devices, which are sampled at their own interval.
// The number of series follows devices, holders and interfaces. Loop thread only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/health/host_metrics.h"
#include "agent/health/metrics_listener.h"
#include "devices/readings.h"
#include "wire/loop.h"

namespace dove::agent {

class MetricsPage {
 public:
  // `agent` outlives the page.
  MetricsPage(wire::Loop& loop, const Agent& agent, HostPaths paths);

  // As MetricsListener's.
  Result<void> listen(const std::string& address, std::shared_ptr<const wire::Tls> tls = nullptr) {
    return listener_.listen(address, std::move(tls));
  }
  void saw(std::vector<devices::DeviceSample> samples) { samples_ = std::move(samples); }
  std::string text() const;

 private:
  const Agent& agent_;
  HostPaths paths_;
  std::vector<devices::DeviceSample> samples_;
  MetricsListener listener_;
};

}  // namespace dove::agent
