// Where browsers find sessions: --sessions-url of the server, --domain and --ports of the proxy.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "programs/settings.h"
#include "text/session_origins.h"

namespace dove::programs {

// What `dove up` gives its own proxy.
inline constexpr char kUsualPorts[] = "20000-20099";

struct OriginSettings {
  std::string domain;      // "apps.example.org"; "": ports
  std::string ports;       // "20000-20099"
  std::string host;        // of the ports
  std::uint16_t port = 0;  // of the domain, as browsers name it; 0: the scheme's
  bool secure = false;
};

// "https://*.apps.example.org", "http://127.0.0.1:20000-20099". Error: bad_setting.
Result<std::string> sessions_url_of(const OriginSettings& settings);
// Whether each port of the range can be listened at now.
bool are_free(const text::SessionOrigins& origins);

}  // namespace dove::programs
