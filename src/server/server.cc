#include "server/server.h"

#include "server/context.h"
#include "server/routes.h"
#include "telemetry/clock.h"
#include "wire/secret.h"
#include "wire/server.h"

namespace dove::server {

struct ApiServer::Impl {
  Impl(wire::Loop& loop, ApiOptions options, controller::Controller& controller,
       store::LogStore& log, Identity identity)
      : context(loop, std::move(options), controller, log, std::move(identity)) {}

  Context context;
  std::unique_ptr<wire::Server> http;
  backends::NativeBackend* backend = nullptr;
};

Result<std::unique_ptr<ApiServer>> ApiServer::make(wire::Loop& loop, ApiOptions options,
                                                   controller::Controller& controller,
                                                   backends::NativeBackend& backend,
                                                   store::LogStore& log) {
  TRY_ASSIGN(Identity identity, Identity::open(options.data_dir));
  auto impl =
      std::make_unique<Impl>(loop, std::move(options), controller, log, std::move(identity));
  Context& context = impl->context;
  wire::ServerLimits limits;
  limits.stream_buffer_bytes = 64 << 20;  // a sync's worth of orders may wait for its agent
  limits.body_limit = body_limit;
  impl->http = std::make_unique<wire::Server>(
      loop, limits, [&context](wire::Request request, std::shared_ptr<wire::Responder> responder) {
        dispatch(context, std::move(request), std::move(responder));
      });
  TRY(impl->http->listen(context.options.host, context.options.port));
  context.watch();
  controller.subscribe([&context](std::shared_ptr<const controller::CommittedBatch> batch) {
    context.loop.post(
        [&context, batch = std::move(batch)]() mutable { context.take_batch(std::move(batch)); });
  });
  impl->backend = &backend;
  backend.set_sink([&context](std::vector<backends::Order> orders) {
    context.loop.post([&context, orders = std::move(orders)] { context.send_orders(orders); });
  });
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ApiServer::~ApiServer() {
  impl_->context.stopping = true;
  impl_->backend->set_sink({});
}

std::uint16_t ApiServer::port() const { return impl_->http->port(); }

std::string ApiServer::token_path() const { return impl_->context.options.data_dir + "/token"; }

void ApiServer::issue_join_token(const std::string& node, Span valid_for,
                                 std::function<void(Result<std::string>)> done) {
  Context& context = impl_->context;
  const std::string token = wire::random_token(32);
  controller::Input input;
  StampedEvent event{
      JoinTokenIssued{wire::sha256_hex(token), node, Instant{context.now_us()} + valid_for}, {}};
  event.cause.principal = "controller";
  input.events.push_back(std::move(event));
  context.submit(std::move(input),
                 [token, done = std::move(done)](const Result<controller::Committed>& committed) {
                   if (!committed.ok()) return done(committed.error());
                   done(token);
                 });
}

void ApiServer::shutdown(std::function<void()> on_done) {
  Context& context = impl_->context;
  context.stopping = true;
  context.keep_yield();
  context.sessions.end_all();
  context.feed.close_all();
  context.steps.close_all();
  context.execs.close_all();
  impl_->http->shutdown(std::chrono::seconds(3), std::move(on_done));
}

}  // namespace dove::server
