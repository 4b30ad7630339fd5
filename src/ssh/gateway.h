// Gateway: takes connections of SSH clients and gives each a process of its own.
//
// One thread, which has nothing to do with SSH but the host key: it accepts, counts and forks. A
// stranger's bytes are read in the connection's process alone. Blocks until a signal ends it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "ssh/connection.h"
#include "ssh/server_link.h"

namespace dove::ssh {

struct GatewayLimits {
  std::size_t connections_max = 1000;
  std::size_t strangers_max = 100;  // who have not signed in yet
  std::size_t of_address_max = 10;  // of these, from one address
  ConnectionLimits connection;
};

// Whoever started it hears of it; from this process and its one thread alone.
struct GatewayWatch {
  std::function<void(const std::string& status)> ready;
  std::function<void()> alive;  // once in `every` at least
  std::function<void()> stopping;
  std::chrono::milliseconds every{0};  // 0: nobody watches
};

struct GatewaySettings {
  ServerSettings server;
  std::string data_dir;            // holds `host_key`, made when missing
  std::string host = "127.0.0.1";  // where to listen
  std::uint16_t port = 0;          // 0: a free one
  std::string public_host;         // as people know it; "": `host`
  GatewayLimits limits;
};

// The private key in that file, Ed25519, made when missing (mode 0600). Its public line. Errors:
// data_dir, bad_host_key.
Result<std::string> host_key(const std::string& path);

// Errors: address_in_use, bad_address, and those above.
Result<void> run_gateway(const GatewaySettings& settings, const GatewayWatch& watch);

}  // namespace dove::ssh
