// FollowPage: what a follower answers at its address: GET /healthz, /readyz and /metrics, and to
// everything else that it is none to ask. No body is taken. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "programs/follow/follower.h"
#include "programs/server/server_settings.h"
#include "programs/server/server_tls.h"
#include "programs/server/site_certificate.h"
#include "wire/server.h"

namespace dove::programs {

class FollowPage {
 public:
  // Listens; with TLS as a server does, with the site's certificate, or under the authority of the
  // source, whose ca.* lie in the data directory then (error no_authority). `standing` is asked at
  // each request.
  static Result<std::unique_ptr<FollowPage>> open(wire::Loop& loop, const ServerSettings& settings,
                                                  std::function<Follower::Standing()> standing);
  std::uint16_t port() const { return server_.port(); }

 private:
  FollowPage(wire::Loop& loop, std::string url, std::function<Follower::Standing()> standing);
  wire::Response answer(const wire::Request& request) const;
  wire::Response readiness() const;
  std::string metrics() const;

  const std::string url_;
  const std::function<Follower::Standing()> standing_;
  std::unique_ptr<ServerTls> tls_;  // with TLS one of both
  std::unique_ptr<SiteCertificate> site_;
  wire::Server server_;
};

}  // namespace dove::programs
