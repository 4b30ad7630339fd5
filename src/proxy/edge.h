// Edge: what all connections of a proxy share. One per proxy, loop thread only.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "proxy/api.h"
#include "proxy/browser_sessions.h"
#include "text/session_origins.h"
#include "wire/loop.h"
#include "wire/secret.h"

namespace dove::proxy {

struct Edge {
  Edge(wire::Loop& on, text::SessionOrigins with, std::string url, wire::ControllersPtr controllers)
      : loop(on),
        origins(std::move(with)),
        public_url(std::move(url)),
        api(on, std::move(controllers)) {}

  // Where browsers find the console.
  const std::string& console_url() const { return public_url.empty() ? api.url() : public_url; }

  wire::Loop& loop;
  const std::string nonce_key = wire::random_token(32);  // of this process: who asked here
  const text::SessionOrigins origins;
  const std::string public_url;  // as in ProxyOptions
  Api api;
  BrowserSessions sessions;
  std::map<std::uint16_t, std::uint64_t> jobs_of_ports;  // the last that was entered there
};

}  // namespace dove::proxy
