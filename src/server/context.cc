#include "server/context.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::server {

Context::Context(wire::Loop& on_loop, ApiOptions with, controller::Controller& on,
                 store::LogStore& log, Identity who)
    : loop(on_loop),
      options(std::move(with)),
      controller(on),
      identity(std::move(who)),
      projection(controller.state()),
      blobs(log),
      feed(loop, projection, log),
      relays(loop),
      sessions(loop, projection, options.heartbeat_us,
               [this](NodeId node, bool silent) { session_ended(node, silent); }),
      steps(loop, projection, sessions, relays),
      execs(loop, projection, sessions,
            [this](StampedEvent event, std::function<void(Result<controller::Committed>)> done) {
              controller::Input input;
              input.events.push_back(std::move(event));
              submit(std::move(input), std::move(done));
            }) {
  restore_yield();
}

void Context::restore_yield() {
  std::ifstream file(yield_path());
  std::stringstream kept;
  kept << file.rdbuf();
  if (projection.restore_yield(kept.str())) return;
  telemetry::log(telemetry::Level::kWarning, "yield_not_restored", {{"path", yield_path()}});
}

void Context::keep_yield() {
  yield_kept_us_ = loop.monotonic_us();
  const std::string fresh = yield_path() + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << projection.yield().keep(state());
  file.close();
  if (file.good() && std::rename(fresh.c_str(), yield_path().c_str()) == 0) return;
  telemetry::log(telemetry::Level::kWarning, "yield_not_kept", {{"path", yield_path()}});
}

std::int64_t Context::now_us() const { return telemetry::now_us(); }

void Context::submit(controller::Input input,
                     std::function<void(Result<controller::Committed>)> done) {
  controller.submit(std::move(input), [this, done = std::move(done)](auto answer) mutable {
    loop.post([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  });
}

void Context::submit(const Call& call, Event event,
                     std::function<void(Result<controller::Committed>)> done) {
  controller::Input input;
  input.events.push_back(StampedEvent{std::move(event), call.cause()});
  submit(std::move(input), std::move(done));
}

void Context::take_batch(std::shared_ptr<const controller::CommittedBatch> batch) {
  const RecentBatch& recent = projection.apply(std::move(batch));
  for (const Decision& decision : recent.committed->batch.decisions) progress.decided(decision);
  feed.published(recent);
}

backends::OrderSources Context::order_sources() {
  return backends::OrderSources{
      state(), [this](const std::string& sha256) { return blobs.find(sha256); },
      [this](JobId job, AttemptNumber attempt) { return identity.job_token(job, attempt); }};
}

void Context::send_orders(const std::vector<backends::Order>& orders) {
  backends::OrderText text(order_sources());
  for (const backends::Order& order : orders) {
    if (sessions.find(order.node) == nullptr) continue;
    sessions.send(order.node, text.write(order), order.seq);
  }
}

void Context::watch() {
  constexpr std::int64_t kLook_us = 5'000'000;
  constexpr std::int64_t kKeepYield_us = 600'000'000;
  const std::int64_t hang_after_us = state().settings.hang_after.us;
  const std::int64_t wait_us =
      hang_after_us > 0 ? std::clamp<std::int64_t>(hang_after_us / 4, 50'000, kLook_us) : kLook_us;
  watch_timer_ = loop.after(std::chrono::microseconds(wait_us), [this] { watch(); });
  projection.time_passed(loop.monotonic_us());
  if (loop.monotonic_us() - yield_kept_us_ >= kKeepYield_us) keep_yield();
  if (stopping) return;
  controller::Input input;
  input.kind = controller::InputKind::kFact;
  for (Event& event : progress.look(state(), loop.monotonic_us())) {
    StampedEvent stamped{std::move(event), {}};
    stamped.cause.principal = "controller";
    input.events.push_back(std::move(stamped));
  }
  if (input.events.empty()) return;
  submit(std::move(input), [](const Result<controller::Committed>&) {});
}

void Context::drop_session(NodeId node) {
  sessions.drop(node);
  relays.node_gone(node);
}

void Context::session_ended(NodeId node, bool silent) {
  relays.node_gone(node);
  if (!stopping) tell_disconnected(node, silent);
}

void Context::tell_disconnected(NodeId node, bool silent) {
  const core::Node* found = state().find_node(node);
  telemetry::log(telemetry::Level::kWarning, "agent_disconnected",
                 {{"node", found == nullptr ? "" : found->name}, {"silent", silent}});
  controller::Input input;
  StampedEvent event{NodeDisconnected{node, silent}, {}};
  event.cause.principal = "controller";
  input.events.push_back(std::move(event));
  input.kind = controller::InputKind::kFact;
  submit(std::move(input), [](const Result<controller::Committed>&) {});
}

void Context::give_up(const Error& why) {
  if (controller.refusal().has_value()) return;
  telemetry::log(telemetry::Level::kError, "refusing_work",
                 {{"code", why.code}, {"why", why.message}});
  controller.refuse(why);
  if (options.on_fatal) options.on_fatal(why);
}

}  // namespace dove::server
