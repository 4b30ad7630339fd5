#include "wire/streams/stream_listener.h"

#include <utility>

#include "telemetry/log.h"
#include "wire/tcp.h"
#include "wire/tls/tls_stream.h"

namespace dove::wire {

struct StreamListener::Shared {
  OnStream on_stream;
  std::unordered_map<std::uint64_t, Handshake> shaking;
  std::uint64_t last = 0;
};

StreamListener::StreamListener(Loop& loop, OnStream on_stream)
    : loop_(loop), shared_(std::make_shared<Shared>(Shared{std::move(on_stream), {}, 0})) {}

StreamListener::~StreamListener() = default;

Result<std::uint16_t> StreamListener::listen(const std::string& host, std::uint16_t port,
                                             std::shared_ptr<const Tls> tls) {
  const auto at = std::make_shared<std::uint16_t>(port);
  const auto on_accept = [weak = std::weak_ptr(shared_), &loop = loop_, at,
                          tls](std::unique_ptr<Stream> plain) {
    const auto shared = weak.lock();
    if (shared == nullptr) return;
    if (tls == nullptr) return shared->on_stream(std::move(plain), *at);
    if (shared->shaking.size() >= kHandshakesMax) return;
    const std::uint64_t id = ++shared->last;
    shared->shaking[id] = accept_tls(loop, std::move(plain), tls, kHandshakeTimeout,
                                     [weak, id, at](Result<std::unique_ptr<Stream>> stream) {
                                       const auto held = weak.lock();
                                       if (held == nullptr) return;
                                       held->shaking.erase(id);
                                       if (stream.ok()) {
                                         held->on_stream(std::move(stream).value(), *at);
                                       }
                                     });
  };
  TRY_ASSIGN(auto listener, listen_tcp(loop_, host, port, on_accept));
  *at = listener->port();
  telemetry::log(telemetry::Level::kDebug, "listening",
                 {{"host", host}, {"port", *at}, {"tls", tls != nullptr}});
  listeners_.push_back(std::move(listener));
  return *at;
}

}  // namespace dove::wire
