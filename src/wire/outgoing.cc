#include "wire/outgoing.h"

#include <fmt/format.h>

#include "wire/tls/tls_stream.h"
#include "wire/unix/unix_socket.h"

namespace dove::wire {
namespace {

// A host that is there takes a connection soon; what may take long is its turn to shake hands.
constexpr std::chrono::microseconds kTakenWithin = std::chrono::seconds(5);

// A connection of TCP, then its handshake. `step` is the attempt in progress.
struct Connecting {
  ConnectAttempt step;
};

}  // namespace

ConnectAttempt connect_to(Loop& loop, const Address& to, std::chrono::microseconds timeout,
                          std::function<void(Result<std::unique_ptr<Stream>>)> done,
                          bool offers_http2, std::chrono::microseconds reach) {
  if (!to.unix_path.empty()) return connect_unix(loop, to.unix_path, std::move(done));
  const ReachTimes times{.host = reach};
  if (to.tls == nullptr) {
    return connect_tcp(loop, to.host, to.port, timeout, std::move(done), times);
  }
  auto both = std::make_shared<Connecting>();
  both->step = connect_tcp(
      loop, to.host, to.port, std::min(timeout, kTakenWithin),
      [weak = std::weak_ptr<Connecting>(both), &loop, to, timeout, offers_http2,
       done = std::move(done)](Result<std::unique_ptr<Stream>> plain) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        if (!plain.ok()) return done(std::move(plain));
        self->step = connect_tls(loop, std::move(plain).value(), to.tls, to.host, to.text(),
                                 timeout, done, offers_http2);
      },
      times);
  return both;
}

std::string request_bytes(const Request& request, const Address& to, bool keep_alive) {
  std::string out =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target, to.text());
  for (const auto& [name, value] : request.headers) {
    if (same_header(name, "host") || same_header(name, "content-length") ||
        same_header(name, "connection") || same_header(name, "transfer-encoding")) {
      continue;
    }
    out += name;
    out += ": ";
    for (char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    out += "\r\n";
  }
  const bool sends = !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
                     request.method == "PATCH";
  if (sends) out += fmt::format("Content-Length: {}\r\n", request.body.size());
  if (!keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  out += request.body;
  return out;
}

}  // namespace dove::wire
