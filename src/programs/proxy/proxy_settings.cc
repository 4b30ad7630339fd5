#include "programs/proxy/proxy_settings.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dove::programs {

Result<std::string> sessions_url_of(const OriginSettings& settings) {
  const std::string scheme = settings.secure ? "https://" : "http://";
  std::string url = settings.domain.empty()
                        ? fmt::format("{}{}:{}", scheme, settings.host, settings.ports)
                        : fmt::format("{}*.{}", scheme, settings.domain);
  if (!settings.domain.empty() && settings.port != 0) url += fmt::format(":{}", settings.port);
  if (text::SessionOrigins::parse(url)) return url;
  const bool by_name = !settings.domain.empty();
  return Error{ErrorKind::kInvalid, "bad_setting",
               by_name
                   ? fmt::format("--domain {}: a name, as apps.example.org", settings.domain)
                   : fmt::format("--ports {}: first and last, as {}", settings.ports, kUsualPorts),
               by_name ? "--domain" : "--ports"};
}

bool are_free(const text::SessionOrigins& origins) {
  for (std::uint32_t port = origins.first_port(); port <= origins.last_port(); ++port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    ::close(fd);
    if (!bound) return false;
  }
  return true;
}

}  // namespace dove::programs
