// Proxy: the way in to the sessions of a cluster for browsers (`dove proxy`).
//
// An edge: it knows nothing and may do nothing by itself. Each session has an origin of its own
// (text/session_origins.h); nobody gets to it without having signed in at the console; each
// connection to the app is opened with a token of whoever it is for, which the server looks at
// anew. docs/operate/sessions.md and docs/decisions/0021 say why. Loop thread only. Use:
//
//   Proxy proxy(loop, options);
//   TRY(proxy.listen());
//   loop.run();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "text/session_origins.h"
#include "wire/cluster/cluster_client.h"
#include "wire/loop.h"

namespace dove::wire {
class Tls;
}

namespace dove::proxy {

struct ProxyOptions {
  text::SessionOrigins origins;
  // The console's, for browsers: "https://gpu.example.org". "": that of the controller that leads.
  std::string public_url;
  wire::ControllersPtr api;
  std::string host = "127.0.0.1";  // where it listens: at `port`, or at the range of the origins
  std::uint16_t port = 0;
  std::shared_ptr<const wire::Tls> tls = nullptr;  // nullptr: plain
  std::size_t connections_max = 20'000;
};

class Proxy {
 public:
  Proxy(wire::Loop& loop, ProxyOptions options);
  // Drops all connections.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Errors: address_in_use, bind_denied, bad_address.
  Result<void> listen();
  // By name: where it listens.
  std::uint16_t port() const;
  std::size_t connections() const;

 private:
  struct Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace dove::proxy
