// What `dove server` and `dove up` were started with. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/declared.h"
#include "notices/settings.h"
#include "programs/follow/follow_settings.h"
#include "programs/server/server_tls.h"
#include "programs/server/sign_in_settings.h"

namespace dove::programs {

struct LogRetention {
  Span age_max = seconds(30 * 24 * 3600);
  std::uint64_t records = 5'000'000;
};

struct ServerSettings {
  std::string data_dir;
  std::string store;       // URL of a PostgreSQL with the log; "": it lies in data_dir
  FollowSettings follow;   // whose log is copied: then it is no controller
  std::string advertised;  // the URL that others know this controller by, where there are several
  std::int64_t lease_us = 1'500'000;
  std::int32_t first_level = kProgramLevel;  // of an empty log (model/level.h)
  std::string host = "127.0.0.1";
  std::uint16_t port = 7717;
  std::int64_t heartbeat_us = 2'000'000;
  LogRetention log_kept;
  TlsSettings tls;
  SignInSettings sign_in;
  notices::Settings notices;
  std::string sessions_url;           // "": there is no proxy
  std::vector<std::string> policies;  // files of libraries (foreign/policy_library.h)
  // Given by flag, environment or file; the rest stays as declared with `dove apply`.
  std::optional<std::string> cluster_name;
  std::optional<std::string> scheduling;  // one of kSchedulings (model/new_cluster.h)
  std::optional<Span> fence;
  std::optional<Span> disconnect_grace;
  std::optional<Span> outage_grace;
  std::optional<Span> silent_after;
};

}  // namespace dove::programs
