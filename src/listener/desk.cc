#include "listener/desk.h"

#include <chrono>

#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::listener {
namespace {

constexpr std::int64_t kKeepGoodput_us = 600'000'000;
constexpr std::size_t kGoodputMax_bytes = std::size_t{256} << 20;

}  // namespace

Desk::Desk(wire::Loop& on_loop, DeskOptions with, controller::Controller& on,
           store::LogStore& with_log, Identity who)
    : loop(on_loop),
      options(std::move(with)),
      controller(on),
      log(with_log),
      identity(std::move(who)),
      projection(controller.state(), log.head().chain_sha256),
      blobs(on_loop, log, options.reads_aside),
      leads_(true) {
  restore_goodput();
  count_time();
  controller.subscribe([this](std::shared_ptr<const controller::CommittedBatch> batch) {
    loop.post([this, batch = std::move(batch)]() mutable { take_batch(std::move(batch)); });
  });
}

Desk::Desk(wire::Loop& on_loop, DeskOptions with, controller::Controller& on,
           store::LogStore& with_log, Identity who, core::State folded)
    : loop(on_loop),
      options(std::move(with)),
      controller(on),
      log(with_log),
      identity(std::move(who)),
      projection(std::move(folded)),
      blobs(on_loop, log, options.reads_aside),
      leads_(false) {
  count_time();
}

// The log has the digest of the token alone, so only the controller that made a new one can write
// it into its file.
void Desk::warn_of_outdated_token() {
  const bool was_outdated = std::exchange(is_token_outdated_, identity.is_outdated(state(), now()));
  if (was_outdated || !is_token_outdated_) return;
  const std::string file = options.data_dir + "/token";
  telemetry::log(
      telemetry::Level::kWarning, "token_outdated",
      {{"file", file},
       {"why", "`dove token rotate` changed the administrator's token by another controller"},
       {"remedy", "copy that controller's file `token` there, or remove this one: rm " + file}});
}

void Desk::submit(controller::Input input, Done done) {
  if (is_cut_) {
    loop.post([done = std::move(done)] {
      done(Error{ErrorKind::kUnavailable, "stopping", "the server is stopping; try again", ""});
    });
    return;
  }
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

// What a standby refuses cannot be written into a log that it may not write: its own has the same
// fields (codec/json_records.cc).
void Desk::note_refusal(Event event) {
  const auto* refused = std::get_if<CallsRefused>(&event);
  if (refused != nullptr && options.refused != nullptr) options.refused->note(*refused);
  if (leads_) return observe(std::move(event));
  if (refused == nullptr) return;
  telemetry::log(telemetry::Level::kWarning, "access_refused",
                 {{"who", refused->who},
                  {"address", refused->address},
                  {"operation", refused->operation},
                  {"code", refused->code},
                  {"times", refused->times}});
}

std::vector<std::string> Desk::troubles() const {
  std::vector<std::string> all;
  for (const auto& trouble : {controller.refusal(), controller.shortage(), controller.leap()}) {
    if (trouble.has_value()) all.push_back(trouble->message);
  }
  return all;
}

void Desk::on_batch(std::function<void(const RecentBatch&)> listener) {
  on_batch_.push_back(std::move(listener));
}

void Desk::take_batch(std::shared_ptr<const controller::CommittedBatch> batch) {
  const RecentBatch& recent = projection.apply(std::move(batch));
  // Before anybody hears about the batch: whoever may not see it any more does not.
  open_access->committed(state(), recent.committed->batch, now());
  if (identity.committed(recent.committed->batch.events)) warn_of_outdated_token();
  for (const auto& listener : on_batch_) listener(recent);
}

void Desk::give_up(const Error& why) {
  if (controller.refusal().has_value()) return;
  telemetry::log(telemetry::Level::kError, "refusing_work",
                 {{"code", why.code}, {"why", why.message}});
  controller.refuse(why);
  if (options.on_fatal) options.on_fatal(why);
}

void Desk::cut() {
  is_cut_ = true;
  blobs.forget_fetches();
  count_timer_.cancel();
}

void Desk::count_time() {
  count_timer_ =
      loop.after(std::chrono::microseconds(options.count_every_us), [this] { count_time(); });
  open_access->time_passed(state(), now());
  warn_of_outdated_token();  // a rotation may leave the former one for a while
  if (!leads_) return;       // GPU time is the leader's to count
  projection.time_passed(loop.monotonic_us());
  if (loop.monotonic_us() - goodput_kept_us_ >= kKeepGoodput_us) keep_goodput();
}

void Desk::restore_goodput() {
  std::string kept = files::text_or_empty(goodput_path(), kGoodputMax_bytes);
  if (kept.empty()) {  // an older server kept it under the old name
    kept = files::text_or_empty(options.data_dir + "/yield.json", kGoodputMax_bytes);
  }
  if (projection.restore_goodput(kept)) return;
  telemetry::log(telemetry::Level::kWarning, "goodput_not_restored", {{"path", goodput_path()}});
}

void Desk::keep_goodput() {
  goodput_kept_us_ = loop.monotonic_us();
  const auto kept =
      files::write_atomically(goodput_path(), projection.goodput().keep(state()), 0644);
  if (kept.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "goodput_not_kept", {{"why", kept.error().message}});
}

}  // namespace dove::listener
