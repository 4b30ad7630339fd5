// ServerRuntime: a whole controller in this process (log, core, API), for `dove server` and `dove
// up`.
//
// Loop thread only; the controller has its own thread inside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "programs/server/server_settings.h"
#include "wire/loop.h"

namespace dove::server {
class ApiServer;
}

namespace dove::programs {

// Free for whoever is not root on the disk that holds `path`; very much if that cannot be known.
std::int64_t free_bytes(const std::string& path);

class ServerRuntime {
 public:
  // Opens the log, listens, begins to decide, and writes <data>/url. Errors name what is in use or
  // damaged, and the remedy.
  static Result<std::unique_ptr<ServerRuntime>> start(wire::Loop& loop, ServerSettings settings);
  // Where controllers share a log: listens, and leads once no other one does; `on_turn` is told
  // whenever it leads, and when it stands by again after it handed over (loop thread). Until it
  // leads the only answer is who does. REQUIRES: settings.store.
  using OnTurn = std::function<void(bool leads)>;
  static Result<std::unique_ptr<ServerRuntime>> stand_by(wire::Loop& loop, ServerSettings settings,
                                                         OnTurn on_turn);
  ~ServerRuntime();

  const std::string& url() const;
  server::ApiServer& api();
  // Ends the loop once everything in progress was answered. May be called again; then at once.
  void shut_down();
  // Calls `alive` on the loop once the controller's thread has taken its turn, which it does not
  // while it waits for a disk.
  void look(std::function<void()> alive);
  // After the loop has ended: 0, or 1 when the server had to give up (the reason is on stderr).
  int finish();

 private:
  struct Impl;
  explicit ServerRuntime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dove::programs
