// Connection: one client of the SSH gateway, from its first byte to its last, in a process of its
// own: whatever goes wrong in one, no other one is in its reach, and nobody waits for it.
//
// Public keys alone let somebody in; the server says whose they are. Nothing but sessions and
// connections to the task's own ports is opened: no agent, no X11, no ports of the gateway.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "ssh/server_link.h"

namespace dove::ssh {

struct ConnectionLimits {
  std::chrono::seconds to_sign_in{30};
  int tries_max = 6;    // keys that were proved, and let nobody in
  int offers_max = 20;  // keys that were shown
  std::size_t channels_max = 64;
};

struct ConnectionSettings {
  int fd = -1;          // the accepted socket; owned
  std::string address;  // of the client, without its port
  std::string host_key_path;
  ConnectionLimits limits;
};

// Serves the client, and blocks until it is gone. `signed_in` is called once it has been let in.
void serve_connection(const ServerLink& server, const ConnectionSettings& settings,
                      const std::function<void()>& signed_in);

}  // namespace dove::ssh
