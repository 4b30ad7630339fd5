#include "wire/streams/stream_listener.h"

#include <utility>

#include "telemetry/log.h"
#include "wire/tcp.h"

namespace dove::wire {

struct StreamListener::Shared {
  OnStream on_stream;
  Handshakes handshakes;
};

StreamListener::StreamListener(Loop& loop, OnStream on_stream, HandshakeLimits limits)
    : loop_(loop), shared_(new Shared{std::move(on_stream), Handshakes(loop, limits)}) {}

StreamListener::~StreamListener() = default;

Result<std::uint16_t> StreamListener::listen(const std::string& host, std::uint16_t port,
                                             std::shared_ptr<const Tls> tls) {
  const auto at = std::make_shared<std::uint16_t>(port);
  const auto on_accept = [weak = std::weak_ptr(shared_), at, tls](std::unique_ptr<Stream> plain) {
    const auto shared = weak.lock();
    if (shared == nullptr) return;
    if (tls == nullptr) return shared->on_stream(std::move(plain), *at);
    shared->handshakes.begin(std::move(plain), tls, [weak, at](std::unique_ptr<Stream> stream) {
      if (const auto held = weak.lock()) held->on_stream(std::move(stream), *at);
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
