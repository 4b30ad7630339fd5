#include "agent/health/metrics_listener.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace dove::agent {
namespace {

wire::ServerLimits page_limits() {
  wire::ServerLimits limits;
  limits.header_bytes = 8 << 10;
  limits.body_bytes = 0;
  limits.connections_max = 64;
  limits.handshakes_max = 64;
  limits.handshakes_peer_max = limits.peer_max = 16;
  limits.idle_timeout = std::chrono::minutes(5);  // scrapers keep theirs between two looks
  return limits;
}

}  // namespace

MetricsListener::MetricsListener(wire::Loop& loop, std::function<std::string()> text)
    : text_(std::move(text)),
      server_(
          loop, page_limits(),
          [this](const wire::Request& request, const std::shared_ptr<wire::Responder>& responder) {
            if (request.method != "GET" || request.path != "/metrics") {
              return responder->send(wire::problem(
                  404, Error{ErrorKind::kNotFound, "not_found", "there is only /metrics", ""}));
            }
            responder->send(wire::Response{
                200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, text_()});
          }) {}

bool MetricsListener::is_local(const std::string& address) {
  return address.empty() || address.starts_with("127.") || address.starts_with("localhost:") ||
         address.starts_with("[::1]:");
}

Result<void> MetricsListener::listen(const std::string& address,
                                     std::shared_ptr<const wire::Tls> tls) {
  const std::size_t colon = address.rfind(':');
  std::uint16_t port = 0;
  const char* const end = address.data() + address.size();
  const bool well = colon != std::string::npos &&
                    std::from_chars(address.data() + colon + 1, end, port).ptr == end;
  if (!well) {
    return Error{ErrorKind::kInvalid, "bad_setting",
                 fmt::format("'{}' is not of the form HOST:PORT", address), "--metrics"};
  }
  return server_.listen(address.substr(0, colon), port, std::move(tls));
}

}  // namespace dove::agent
