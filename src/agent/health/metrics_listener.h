// MetricsListener: GET /metrics of a program, for Prometheus.
//
// There is no authentication: listen on an address that only permitted clients can reach. Clients
// get small limits, because they are scrapers. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::agent {

class MetricsListener {
 public:
  // `text`: the page, asked for at each request.
  MetricsListener(wire::Loop& loop, std::function<std::string()> text);

  // Whether nobody else can reach it, as it is nowhere or on loopback.
  static bool is_local(const std::string& address);
  // "127.0.0.1:9400", over TLS where that is given.
  Result<void> listen(const std::string& address, std::shared_ptr<const wire::Tls> tls = nullptr);
  std::uint16_t port() const { return server_.port(); }

 private:
  const std::function<std::string()> text_;
  wire::Server server_;
};

}  // namespace dove::agent
