#include "controller/controller.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>

#include "controller/batch_maker.h"
#include "controller/boot_doubt.h"
#include "controller/clock_watch.h"
#include "controller/disk_watch.h"
#include "controller/housekeeping.h"
#include "controller/ledger.h"
#include "controller/orders.h"
#include "controller/refusals.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kOverdueRetry_us = 1'000'000;
constexpr std::int64_t kLongestSleep_us = 60'000'000;
constexpr std::int64_t kDiskLook_us = 5'000'000;

// Limit of what waits for the controller's thread; far beyond what all agents say at once.
constexpr std::size_t kQueueMax = 200'000;
constexpr std::size_t kQueueMax_bytes = std::size_t{512} << 20;  // of what jobs are to run

std::size_t bytes_of(const Input& input) {
  std::size_t bytes = 0;
  for (const auto& [sha256, blob] : input.blobs) bytes += blob.size();
  return bytes;
}

}  // namespace

struct Controller::Impl {
  Impl(store::LogStore& l, store::LogKeeper& k, backends::Backend& b, ControllerOptions o)
      : log(l),
        keeper(k),
        backend(b),
        options(std::move(o)),
        ledger(options.policies == nullptr ? core::Policies{} : *options.policies),
        housekeeping(k),
        disk(options) {
    if (!options.clock) {
      ClockWatch::Keep keep;
      if (options.keep_time) {
        keep = [this](std::int64_t now_us, std::int64_t steady_us, bool accepted) {
          options.keep_time(now_us, steady_us, accepted, doubt.goes_on_us());
        };
      }
      clock.emplace(options.begin_us, options.clock_accepted, std::move(keep),
                    [this](ClockLeapt leapt) { note(leapt); });
    }
  }

  store::LogStore& log;
  store::LogKeeper& keeper;
  backends::Backend& backend;
  ControllerOptions options;
  Ledger ledger;
  Epoch epoch;
  Housekeeping housekeeping;
  DiskWatch disk;
  bool has_followed = false;
  std::int64_t looked_us = 0;  // steady: the log was read up to its end of this moment
  struct Told {
    Following calls;     // both unset: nobody
    bool whole = false;  // and so each batch from now on
  } told;                // by open()
  std::vector<std::function<void(std::shared_ptr<const CommittedBatch>)>> observers;
  std::thread thread;
  std::function<void()> by_hand;  // set in place of a thread

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::vector<PendingInput> queue;  // guarded by mutex, as are the next six
  std::size_t queue_bytes = 0;
  std::vector<PendingInput> held_back;  // facts that wait for room on the disk
  bool running = false;
  bool stopping = false;
  bool stops_at_once = false;
  std::optional<Error> refusal;
  std::optional<ClockWatch> clock;  // nothing: options.clock; controller's thread only
  BootDoubt doubt;

  telemetry::Counter& events_total =
      telemetry::metrics().counter("dove_log_events_total", "Events written to the log.");
  telemetry::Counter& decisions_total =
      telemetry::metrics().counter("dove_log_decisions_total", "Decisions written to the log.");
  telemetry::Histogram& decide_seconds = telemetry::metrics().histogram(
      "dove_decide_seconds", "Time from taking a batch's inputs to its decisions.");
  telemetry::Histogram& append_seconds =
      telemetry::metrics().histogram("dove_append_seconds", "Time to make a batch durable.");

  Result<void> follow();
  void run();
  void close();
  bool wait_for_work(std::vector<PendingInput>& inputs);
  bool turn_away(std::vector<PendingInput>& inputs);
  void put_back(std::vector<PendingInput>& inputs, const Error& error);
  void step(std::vector<PendingInput> inputs);
  Result<void> commit(BatchMaker& maker);
  void append_failed(const Error& error);
  void fatal(const Error& error);
  void note(Event event);
  void look_around() {
    disk.look();
    if (!clock) return;
    clock->look();
    if (!clock->leap()) doubt = {};
    if (doubt.settles(ledger.state())) note(ClockAccepted{});
  }
  void begin_clock() {
    clock->begin(ledger.state().now.us);
    if (options.doubted_us != 0) {
      doubt = BootDoubt::of_former_life(ledger.state(), options.doubted_us);
      return;
    }
    doubt = BootDoubt(ledger.state(), options.off_since_us, clock->now_us());
    if (doubt.goes_on_us() != 0) clock->go_on_from(doubt.goes_on_us());
  }
  std::int64_t now_us() { return clock ? clock->now_us() : options.clock(); }
  std::int64_t due_in_us();
  std::int64_t idle_us();
};

Controller::Controller(store::LogStore& log, store::LogKeeper& keeper, backends::Backend& backend,
                       ControllerOptions options)
    : impl_(std::make_unique<Impl>(log, keeper, backend, std::move(options))) {}

Controller::~Controller() {
  if (!impl_->by_hand) stop();
}

Result<void> Controller::open() {
  Impl& self = *impl_;
  {
    const std::lock_guard lock(self.mutex);
    CHECK(!self.running, "a controller that runs is not opened");
    self.stopping = self.stops_at_once = false;
  }
  // A lease may be shorter than the first reading of a long log.
  if (!self.has_followed) {
    self.looked_us = telemetry::monotonic_us();
    TRY(self.follow());
  }
  const Instant before = self.ledger.state().now;
  const Result<Epoch> begun = self.keeper.begin_epoch(self.options.holder);
  if (!begun.ok() && begun.error().code != "lease_held") return begun.error();
  const std::int64_t looked_us = telemetry::monotonic_us();
  TRY(self.follow());
  // What came since the last look was stamped since then.
  const std::int64_t late_us = telemetry::monotonic_us() - std::exchange(self.looked_us, looked_us);
  const Instant last = self.ledger.state().now;
  if (self.clock && last > before) self.clock->heard(last.us, late_us);
  if (!begun.ok()) {  // the next try has less to fold
    Impl::Told& told = self.told;
    if (told.calls.whole && !told.whole) told.whole = told.calls.whole(self.ledger.state());
    return begun.error();
  }
  TRY(self.ledger.check_batch(self.log.head()));
  self.epoch = *begun;
  if (self.clock) self.begin_clock();
  Cause cause;
  cause.principal = "controller";
  BatchMaker restored(self.ledger, self.options, self.epoch);
  if (restored.begin_incarnation(cause)) TRY(self.commit(restored));
  BatchMaker maker(self.ledger, self.options, self.epoch);
  maker.begin(self.now_us());
  const bool is_new = self.ledger.last_batch() == BatchNumber{};
  const std::int32_t level = is_new ? self.options.first_level : self.ledger.state().level;
  maker.add(ControllerStarted{self.options.build, self.options.policy_digest, level}, cause);
  if (is_new && self.options.new_cluster.has_value()) {
    maker.add(ObjectApplied{Declared(*self.options.new_cluster)}, cause);
  }
  TRY(self.commit(maker));
  self.backend.carry_out(outstanding_orders(self.ledger.state(), std::nullopt));
  return {};
}

const core::Policies& Controller::policies() const { return *impl_->options.policies; }

const core::State& Controller::state() const { return impl_->ledger.state(); }

void Controller::subscribe(std::function<void(std::shared_ptr<const CommittedBatch>)> observer) {
  impl_->observers.push_back(std::move(observer));
}

void Controller::on_following(Following calls) { impl_->told = {std::move(calls)}; }

void Controller::forget_observers() { impl_->observers.clear(); }

void Controller::start() {
  const std::lock_guard lock(impl_->mutex);
  CHECK(!impl_->running, "the controller is started once");
  impl_->running = true;
  impl_->thread = std::thread([this] { impl_->run(); });
}

void Controller::start_by_hand(std::function<void()> wake) {
  const std::lock_guard lock(impl_->mutex);
  CHECK(!impl_->running && wake, "the controller is started once");
  impl_->running = true;
  impl_->by_hand = std::move(wake);
}

std::int64_t Controller::work() {
  std::vector<PendingInput> inputs;
  {
    const std::lock_guard lock(impl_->mutex);
    inputs.swap(impl_->queue);
    impl_->queue_bytes = 0;
  }
  if (!inputs.empty() || impl_->idle_us() == 0) impl_->step(std::move(inputs));
  impl_->housekeeping.finish();
  return impl_->idle_us();
}

void Controller::stop(bool at_once) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->running || impl_->stopping) return;
    impl_->stopping = true;
    impl_->stops_at_once = at_once;
  }
  if (impl_->by_hand) {
    impl_->close();
  } else {
    impl_->wake.notify_one();
    impl_->thread.join();
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->running = false;
}

void Controller::submit(Input input, Completion done) {
  {
    std::unique_lock lock(impl_->mutex);
    if (!impl_->running || impl_->stopping) {
      lock.unlock();
      return done(stopping_error());
    }
    // What agents say is held to an allowance of its own, and a refusal would cost their tasks.
    const bool can_wait = input.kind == InputKind::kRequest || input.kind == InputKind::kNewWork;
    const std::size_t bytes = bytes_of(input);
    const bool is_full =
        impl_->queue.size() >= kQueueMax || impl_->queue_bytes + bytes > kQueueMax_bytes;
    if (can_wait && is_full) {
      lock.unlock();
      return done(busy_error());
    }
    impl_->queue_bytes += bytes;
    impl_->queue.push_back(PendingInput{std::move(input), std::move(done), {}});
  }
  if (impl_->by_hand) return impl_->by_hand();
  impl_->wake.notify_one();
}

void Controller::refuse(Error why) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->refusal.has_value()) impl_->refusal = std::move(why);
  }
  impl_->wake.notify_one();
}

std::optional<Error> Controller::shortage() const { return impl_->disk.shortage(); }

std::int64_t Controller::now_us() const {
  return impl_->clock ? impl_->clock->even_us() : impl_->options.clock();
}

std::optional<Error> Controller::leap() const {
  return impl_->clock ? impl_->clock->leap() : std::nullopt;
}

std::optional<Error> Controller::refusal() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->refusal;
}

Result<void> Controller::Impl::follow() {
  if (has_followed) {
    const Result<void> followed = ledger.follow(log, told.whole ? told.calls.batch : nullptr);
    if (followed.ok() || followed.error().code != "records_forgotten") return followed;
  }
  has_followed = told.whole = false;
  TRY(ledger.recover(log, keeper));
  has_followed = true;
  return {};
}

// -- the controller's thread ---------------------------------------------------------------------

std::int64_t Controller::Impl::due_in_us() {
  const Instant wake_at = ledger.wake_at();
  if (wake_at == kNever) return kLongestSleep_us;
  // What was due at the instant just decided has been done, or cannot be done by time alone.
  const std::int64_t at_us =
      wake_at > ledger.state().now ? wake_at.us : ledger.state().now.us + kOverdueRetry_us;
  return std::clamp<std::int64_t>(at_us - now_us(), 0, kLongestSleep_us);
}

// How long nothing needs to be done unless somebody submits. REQUIRES: mutex is held, or by hand.
std::int64_t Controller::Impl::idle_us() {
  if (const auto full_for_us = disk.full_for_us()) return *full_for_us;
  return refusal.has_value() ? kLongestSleep_us : due_in_us();
}

bool Controller::Impl::wait_for_work(std::vector<PendingInput>& inputs) {
  std::unique_lock lock(mutex);
  while (queue.empty() && !stopping) {
    const std::int64_t sleep_us = idle_us();
    if (sleep_us == 0) break;
    wake.wait_for(lock, std::chrono::microseconds(
                            options.free_bytes ? std::min(sleep_us, kDiskLook_us) : sleep_us));
    if (queue.empty() && !stopping) {
      lock.unlock();
      look_around();
      lock.lock();
    }
    if (!disk.full_for_us() && !refusal.has_value() && due_in_us() == 0) break;
  }
  inputs.swap(queue);
  queue_bytes = 0;
  return !stopping;
}

void Controller::Impl::run() {
  std::vector<PendingInput> inputs;
  while (wait_for_work(inputs)) {
    step(std::move(inputs));
    inputs.clear();
  }
  for (PendingInput& input : inputs) input.done(stopping_error());
  close();
}

// Takes nothing more, and writes a snapshot.
void Controller::Impl::close() {
  if (clock) clock->keep();
  for (PendingInput& input : queue) input.done(stopping_error());
  queue.clear();
  queue_bytes = 0;
  for (PendingInput& input : held_back) input.done(stopping_error());
  held_back.clear();
  std::optional<Error> refused;
  {
    const std::lock_guard lock(mutex);
    if (stops_at_once) return;
    refused = refusal;
  }
  housekeeping.finish_soon();
  if (!refused.has_value() && ledger.records_since_snapshot() > 0) {
    housekeeping.snapshot(ledger, log.head(), options);
    housekeeping.finish_soon();
  }
}

// What the controller itself saw. It waits for its turn as all that is submitted.
void Controller::Impl::note(Event event) {
  Input input;
  input.kind = InputKind::kFact;
  input.events.push_back(StampedEvent{std::move(event), {}});
  input.events.back().cause.principal = "controller";
  const std::lock_guard lock(mutex);
  queue.push_back(PendingInput{std::move(input), [](const Result<Committed>&) {}, {}});
}

// Answers the inputs that cannot be taken now; true when nothing is left to do.
bool Controller::Impl::turn_away(std::vector<PendingInput>& inputs) {
  std::optional<Error> refused;
  {
    const std::lock_guard lock(mutex);
    refused = refusal;
  }
  if (refused.has_value()) {
    for (PendingInput& input : inputs) input.done(*refused);
    return true;
  }
  const bool full = disk.is_full();
  look_around();
  if (full) {
    const auto relief = std::stable_partition(inputs.begin(), inputs.end(), [&](const auto& each) {
      return !disk.keeps_room() || each.input.kind != InputKind::kRelief;
    });
    std::vector<PendingInput> taken(std::make_move_iterator(relief),
                                    std::make_move_iterator(inputs.end()));
    inputs.erase(relief, inputs.end());
    put_back(inputs, disk.error());
    inputs = std::move(taken);
    return inputs.empty();
  }
  if (!held_back.empty()) {
    std::move(inputs.begin(), inputs.end(), std::back_inserter(held_back));
    inputs.swap(held_back);
    held_back.clear();
  }
  return false;
}

// What nobody would say again waits for room on the disk, everybody else is told.
void Controller::Impl::put_back(std::vector<PendingInput>& inputs, const Error& error) {
  for (PendingInput& input : inputs) {
    if (input.input.kind == InputKind::kFact && error.kind == ErrorKind::kExhausted) {
      held_back.push_back(std::move(input));
    } else {
      input.done(error);
    }
  }
}

void Controller::Impl::step(std::vector<PendingInput> inputs) {
  if (turn_away(inputs)) return;
  const bool is_low = disk.is_low();
  // Asked before time moves on: an instant that it moves past is due, not over.
  const Instant wake_at = inputs.empty() ? ledger.wake_at() : kNever;
  BatchMaker maker(ledger, options, epoch);
  maker.begin(now_us());
  if (disk.was_full()) maker.begin_after_full();
  for (PendingInput& input : inputs) {
    const bool refused = is_low && input.input.kind == InputKind::kNewWork;
    input.answer = refused ? Result<Committed>(disk.error()) : maker.add(input.input);
  }
  if (maker.empty() && (wake_at <= ledger.state().now || disk.wants_proof())) {
    Cause cause;
    cause.principal = "controller";
    maker.add(TimeReached{}, cause);
  }
  if (maker.empty()) {
    maker.abandon();
  } else if (const Result<void> committed = commit(maker); !committed.ok()) {
    append_failed(committed.error());
    const Error& why = committed.error();
    put_back(inputs, why.kind == ErrorKind::kExhausted ? disk.error() : refusal_of(why));
    return;
  }
  for (PendingInput& input : inputs) {
    if (input.answer->ok()) {
      Committed& answer = input.answer->value();
      answer.head = ledger.state().head;
      answer.at = ledger.state().now;
    }
    input.done(std::move(*input.answer));
  }
}

Result<void> Controller::Impl::commit(BatchMaker& maker) {
  const std::int64_t begun_us = telemetry::monotonic_us();
  auto committed = std::make_shared<CommittedBatch>();
  committed->batch = maker.finish();
  store::Batch& batch = committed->batch;
  const std::int64_t decided_us = telemetry::monotonic_us();
  decide_seconds.observe(decided_us - begun_us);
  TRY(log.append(epoch, Seq(batch.first_seq.value - 1), batch));
  append_seconds.observe(telemetry::monotonic_us() - decided_us);
  committed->chain = log.head().chain_sha256;
  disk.appended();
  events_total.add(batch.events.size());
  decisions_total.add(batch.decisions.size());
  ledger.appended(batch);
  if (clock) clock->appended(batch);
  batch.blobs.clear();
  for (const auto& observer : observers) observer(committed);
  std::vector<backends::Order> orders =
      orders_of(ledger.state(), batch.decisions, Seq(batch.first_seq.value + batch.events.size()));
  if (!orders.empty()) backend.carry_out(std::move(orders));
  if (ledger.records_since_snapshot() >= options.snapshot_every_records && housekeeping.idle()) {
    housekeeping.snapshot(ledger, log.head(), options);
  }
  return {};
}

void Controller::Impl::append_failed(const Error& error) {
  if (error.kind != ErrorKind::kExhausted) return fatal(error);
  disk.append_failed(error);
  // The batch did not happen: memory goes back to what the log says.
  housekeeping.finish();
  const Result<void> recovered = ledger.recover(log, keeper);
  if (!recovered.ok()) fatal(recovered.error());
}

void Controller::Impl::fatal(const Error& error) {
  telemetry::log(telemetry::Level::kError, "controller_failed",
                 {{"code", error.code}, {"why", error.message}});
  {
    const std::lock_guard lock(mutex);
    if (!refusal.has_value()) refusal = error;
  }
  CHECK(options.on_fatal != nullptr, "the log cannot be written; see the line above");
  options.on_fatal(error);
}

}  // namespace dove::controller
