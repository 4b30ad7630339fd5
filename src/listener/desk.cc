#include "listener/desk.h"

#include <chrono>

#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::listener {
namespace {

constexpr auto kCountEvery = std::chrono::seconds(5);
constexpr std::int64_t kKeepYield_us = 600'000'000;
constexpr std::size_t kYieldMax_bytes = std::size_t{256} << 20;

}  // namespace

Desk::Desk(wire::Loop& on_loop, DeskOptions with, controller::Controller& on,
           store::LogStore& with_log, Identity who)
    : loop(on_loop),
      options(std::move(with)),
      controller(on),
      log(with_log),
      identity(std::move(who)),
      projection(controller.state()),
      blobs(log) {
  restore_yield();
  count_time();
  controller.subscribe([this](std::shared_ptr<const controller::CommittedBatch> batch) {
    loop.post([this, batch = std::move(batch)]() mutable { take_batch(std::move(batch)); });
  });
}

void Desk::submit(controller::Input input, Done done) {
  controller.submit(std::move(input), [this, done = std::move(done)](auto answer) mutable {
    loop.post([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  });
}

void Desk::submit(const Call& call, Event event, Done done) {
  controller::Input input;
  input.events.push_back(StampedEvent{std::move(event), call.cause()});
  submit(std::move(input), std::move(done));
}

void Desk::observe(Event event) {
  controller::Input input;
  StampedEvent stamped{std::move(event), {}};
  stamped.cause.principal = "controller";
  input.events.push_back(std::move(stamped));
  input.kind = controller::InputKind::kFact;
  submit(std::move(input), [](const Result<controller::Committed>&) {});
}

void Desk::on_batch(std::function<void(const RecentBatch&)> listener) {
  on_batch_.push_back(std::move(listener));
}

void Desk::take_batch(std::shared_ptr<const controller::CommittedBatch> batch) {
  const RecentBatch& recent = projection.apply(std::move(batch));
  for (const auto& listener : on_batch_) listener(recent);
}

void Desk::give_up(const Error& why) {
  if (controller.refusal().has_value()) return;
  telemetry::log(telemetry::Level::kError, "refusing_work",
                 {{"code", why.code}, {"why", why.message}});
  controller.refuse(why);
  if (options.on_fatal) options.on_fatal(why);
}

void Desk::count_time() {
  count_timer_ = loop.after(kCountEvery, [this] { count_time(); });
  projection.time_passed(loop.monotonic_us());
  if (loop.monotonic_us() - yield_kept_us_ >= kKeepYield_us) keep_yield();
}

void Desk::restore_yield() {
  if (projection.restore_yield(files::text_or_empty(yield_path(), kYieldMax_bytes))) return;
  telemetry::log(telemetry::Level::kWarning, "yield_not_restored", {{"path", yield_path()}});
}

void Desk::keep_yield() {
  yield_kept_us_ = loop.monotonic_us();
  const auto kept = files::write_atomically(yield_path(), projection.yield().keep(state()), 0644);
  if (kept.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "yield_not_kept", {{"why", kept.error().message}});
}

}  // namespace dove::listener
