// StandbyPage: what a controller that stands by answers at the server's address.
//
// GET /healthz: it lives. Everything else: 503 `not_leader`, with whom to ask (header Dove-Leader);
// of /readyz it says how far it has followed, too. No body is taken. Loop thread only.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "programs/server/server_settings.h"
#include "programs/server/server_tls.h"
#include "programs/server/term.h"
#include "wire/server.h"

namespace dove::programs {

class StandbyPage {
 public:
  // Listens. `standing` is asked at each request.
  static Result<std::unique_ptr<StandbyPage>> open(wire::Loop& loop, const ServerSettings& settings,
                                                   std::function<Standing()> standing);

 private:
  StandbyPage(wire::Loop& loop, std::function<Standing()> standing);
  wire::Response answer(const wire::Request& request) const;

  const std::function<Standing()> standing_;
  std::unique_ptr<ServerTls> tls_;
  wire::Server server_;
};

}  // namespace dove::programs
