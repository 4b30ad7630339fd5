// Process: a process on a host of the simulated network, as the World of its Loop, or a thread
// beside that.
//
// Destroying it drops what it had still to do. The host outlives it, and what it had still to do.
// It listens by the host's name, which outlives the network's use of it. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/explore/network.h"
#include "wire/world.h"

namespace dove::sim {

class Process : public wire::World {
 public:
  Process(Network& network, Host& host);
  ~Process() override;
  std::int64_t monotonic_us() const override;
  void after(std::chrono::microseconds delay, std::function<void()> fn) override;
  std::unique_ptr<wire::ClientLine> line(const std::string& host, std::uint16_t port,
                                         const wire::AsyncClientOptions& options) override;
  std::unique_ptr<wire::Listening> listen(std::uint16_t port, wire::Handler handler) override;

 private:
  Network& network_;
  Host& host_;
  std::shared_ptr<bool> alive_;
};

}  // namespace dove::sim
