#include "proxy/proxy.h"

#include <chrono>
#include <unordered_set>
#include <utility>

#include "proxy/edge.h"
#include "proxy/front.h"
#include "telemetry/log.h"
#include "wire/streams/stream_listener.h"

namespace dove::proxy {
namespace {

constexpr std::chrono::seconds kTickEvery{1};

}  // namespace

struct Proxy::Impl : std::enable_shared_from_this<Proxy::Impl> {
  Impl(wire::Loop& loop, ProxyOptions with)
      : options(std::move(with)), edge(loop, options.origins, options.public_url, options.api) {}

  void accept(std::unique_ptr<wire::Stream> stream, std::uint16_t at) {
    if (fronts.size() >= options.connections_max) return;
    auto front = std::make_shared<Front>(
        edge, std::move(stream), at, [weak = weak_from_this()](const std::shared_ptr<Front>& over) {
          if (const auto self = weak.lock()) self->fronts.erase(over);
        });
    fronts.insert(front);
    front->start();
  }

  void tick() {
    timer = edge.loop.after(kTickEvery, [this] { tick(); });
    const std::int64_t now_us = edge.loop.monotonic_us();
    const auto all = fronts;
    for (const auto& front : all) front->tick(now_us);
    edge.sessions.sweep(edge.api, now_us);
  }

  const ProxyOptions options;
  Edge edge;
  std::unordered_set<std::shared_ptr<Front>> fronts;
  std::unique_ptr<wire::StreamListener> listener;
  std::uint16_t port = 0;
  wire::Timer timer;
};

Proxy::Proxy(wire::Loop& loop, ProxyOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(options))) {
  impl_->listener = std::make_unique<wire::StreamListener>(
      loop, [weak = std::weak_ptr(impl_)](std::unique_ptr<wire::Stream> stream, std::uint16_t at) {
        if (const auto impl = weak.lock()) impl->accept(std::move(stream), at);
      });
  impl_->tick();
}

Proxy::~Proxy() {
  impl_->timer.cancel();
  impl_->listener.reset();
  const auto all = std::exchange(impl_->fronts, {});
  for (const auto& front : all) front->drop();
}

Result<void> Proxy::listen() {
  const ProxyOptions& options = impl_->options;
  if (options.origins.by_name()) {
    TRY_ASSIGN(impl_->port, impl_->listener->listen(options.host, options.port, options.tls));
    return {};
  }
  for (std::uint32_t port = options.origins.first_port(); port <= options.origins.last_port();
       ++port) {
    TRY(impl_->listener->listen(options.host, static_cast<std::uint16_t>(port), options.tls));
  }
  return {};
}

std::uint16_t Proxy::port() const { return impl_->port; }

std::size_t Proxy::connections() const { return impl_->fronts.size(); }

}  // namespace dove::proxy
