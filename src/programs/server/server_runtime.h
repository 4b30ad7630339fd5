// ServerRuntime: a whole controller in this process (log, core, API), for `dove server` and `dove
// up`.
//
// Loop thread only; the controller has its own thread inside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/declared.h"
#include "notices/settings.h"
#include "programs/server/server_tls.h"
#include "programs/server/sign_in_settings.h"
#include "wire/loop.h"

namespace dove::server {
class ApiServer;
}

namespace dove::programs {

struct LogRetention {
  Span age_max = seconds(30 * 24 * 3600);
  std::uint64_t records = 5'000'000;
};

struct ServerSettings {
  std::string data_dir;
  std::string host = "127.0.0.1";
  std::uint16_t port = 7717;
  std::int64_t heartbeat_us = 2'000'000;
  LogRetention log_kept;
  TlsSettings tls;
  SignInSettings sign_in;
  notices::Settings notices;
  std::string sessions_url;           // "": there is no proxy
  bool accepts_clock = false;         // takes over the machine's clock though it leapt
  std::vector<std::string> policies;  // files of libraries (foreign/policy_library.h)
  // Given by flag, environment or file; the rest stays as declared with `dove apply`.
  std::optional<std::string> cluster_name;
  std::optional<std::string> scheduling;  // one of kSchedulings (model/new_cluster.h)
  std::optional<Span> fence;
  std::optional<Span> disconnect_grace;
  std::optional<Span> outage_grace;
  std::optional<Span> silent_after;
};

// Free for whoever is not root on the disk that holds `path`; very much if that cannot be known.
std::int64_t free_bytes(const std::string& path);

class ServerRuntime {
 public:
  // Opens the log, listens, begins to decide, and writes <data>/url. Errors name what is in use or
  // damaged, and the remedy.
  static Result<std::unique_ptr<ServerRuntime>> start(wire::Loop& loop, ServerSettings settings);
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
