#include "server/server.h"

#include "server/context.h"
#include "server/routes.h"
#include "telemetry/clock.h"
#include "wire/secret.h"
#include "wire/server.h"

namespace dove::server {
namespace {

listener::DeskOptions desk_options(const ApiOptions& options) {
  return {options.data_dir, options.heartbeat_us, options.on_fatal};
}

}  // namespace

struct ApiServer::Impl {
  Impl(wire::Loop& loop, ApiOptions with, controller::Controller& controller,
       backends::NodeBackend& on, store::LogStore& log, listener::Identity identity)
      : options(std::move(with)),
        desk(loop, desk_options(options), controller, log, std::move(identity)),
        backend(on),
        context{desk, backend.open(desk), options.version, EventFeed(loop, desk.projection, log),
                JobWaits(loop, desk.projection)},
        routes(listener::bind_routes(context, api_routes())) {
    backend.add_routes(routes);
    desk.on_batch([this](const listener::RecentBatch& recent) {
      context.feed.published(recent);
      context.waits.published(recent);
    });
  }

  const ApiOptions options;
  listener::Desk desk;
  backends::NodeBackend& backend;
  Context context;
  std::vector<listener::Route> routes;
  std::unique_ptr<wire::Server> http;
};

Result<std::unique_ptr<ApiServer>> ApiServer::make(wire::Loop& loop, ApiOptions options,
                                                   controller::Controller& controller,
                                                   backends::NodeBackend& backend,
                                                   store::LogStore& log) {
  TRY_ASSIGN(auto identity, listener::Identity::open(options.data_dir));
  auto impl = std::make_unique<Impl>(loop, std::move(options), controller, backend, log,
                                     std::move(identity));
  Impl& self = *impl;
  wire::ServerLimits limits;
  limits.stream_buffer_bytes = 64 << 20;  // a sync's worth of orders may wait for its agent
  limits.admit = [&self](const wire::Request& head) {
    return listener::admit(self.desk, self.routes, head);
  };
  self.http = std::make_unique<wire::Server>(
      loop, limits, [&self](wire::Request request, std::shared_ptr<wire::Responder> responder) {
        listener::dispatch(self.desk, self.routes, std::move(request), std::move(responder));
      });
  auto server = std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
  TRY(self.http->listen(self.options.host, self.options.port));
  return server;
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ApiServer::~ApiServer() {
  impl_->desk.stop();
  impl_->http.reset();
  impl_->backend.close();
}

std::uint16_t ApiServer::port() const { return impl_->http->port(); }

std::string ApiServer::token_path() const { return impl_->options.data_dir + "/token"; }

void ApiServer::issue_join_token(const std::string& node, Span valid_for,
                                 std::function<void(Result<std::string>)> done) {
  const std::string token = wire::random_token(32);
  controller::Input input;
  StampedEvent event{
      JoinTokenIssued{wire::sha256_hex(token), node, Instant{telemetry::now_us()} + valid_for}, {}};
  event.cause.principal = "controller";
  input.events.push_back(std::move(event));
  impl_->desk.submit(std::move(input), [token, done = std::move(done)](
                                           const Result<controller::Committed>& committed) {
    if (!committed.ok()) return done(committed.error());
    done(token);
  });
}

void ApiServer::shutdown(std::function<void()> on_done) {
  impl_->desk.stop();
  impl_->desk.keep_goodput();
  impl_->backend.end_streams();
  impl_->context.feed.close_all();
  impl_->context.waits.close_all();
  impl_->http->shutdown(std::chrono::seconds(3), std::move(on_done));
}

}  // namespace dove::server
