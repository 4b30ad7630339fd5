#include "sim/explore/control_plane.h"

#include <fmt/format.h>

#include <filesystem>

#include "backends/native/native_backend.h"
#include "controller/ledger.h"
#include "core/cycle/cycle.h"
#include "core/state/hash.h"
#include "server/server.h"
#include "sim/explore/process.h"
#include "wire/loop.h"

namespace dove::sim {
namespace {

constexpr std::uint64_t kSnapshotEvery = 10'000;
constexpr std::uint64_t kRecordsKept = 400'000;

}  // namespace

Result<void> FaultyLog::append(Epoch epoch, Seq expected_head, const store::Batch& batch) {
  const Fault fault = appends_ > 0 ? fault_ : Fault::kNone;
  if (fault != Fault::kNone) --appends_;
  if (fault == Fault::kKillBefore) throw ControllerKilled{};
  if (fault == Fault::kFull) {
    return Error{ErrorKind::kExhausted, "disk_full", "the disk is full", ""};
  }
  TRY(log_.append(epoch, expected_head, batch));
  if (durable_) durable_(batch);
  if (fault == Fault::kKillAfter) throw ControllerKilled{};
  return {};
}

struct ControlPlane::Life {
  Life(Network& network, Host& host, store::LogStore& log, store::LogKeeper& keeper,
       controller::ControllerOptions options)
      : process(network, host),
        loop(process),
        controller(log, keeper, backend, std::move(options)) {}

  Process process;
  wire::Loop loop;
  backends::NativeBackend backend;
  controller::Controller controller;
  std::unique_ptr<server::ApiServer> api;
  std::uint64_t wake_number = 0;  // only the last wake asked for counts
  bool wake_soon = false;
};

ControlPlane::ControlPlane(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace,
                           store::LogStore& log, store::LogKeeper& keeper,
                           ControlPlaneOptions options, std::uint64_t seed)
    : agenda_(agenda),
      network_(network),
      oracle_(oracle),
      trace_(trace),
      keeper_(keeper),
      options_(std::move(options)),
      random_(seed),
      log_(log),
      replay_(*options_.policies) {
  host_.name = "controller";
  std::filesystem::create_directories(options_.data_dir);
  log_.on_durable(
      [this](const store::Batch& batch) { oracle_.durable(batch, life_->controller.state()); });
}

ControlPlane::~ControlPlane() = default;

void ControlPlane::start() {
  if (life_ != nullptr) return;
  trace_.add(agenda_.now_us(), "controller starts");
  if (hash_before_ != 0) {
    controller::Ledger ledger;
    const Result<void> read = ledger.recover(log_, keeper_);
    if (!read.ok()) return oracle_.fail("recovery: " + read.error().message);
    oracle_.recovered(ledger.state(), hash_before_);
    hash_before_ = 0;
  }
  controller::ControllerOptions options;
  options.policies = options_.policies;
  options.policy_digest = core::policy_digest(*options_.policies);
  options.build = "explored";
  options.holder = "exploration";
  options.clock = [this] { return options_.epoch_us + agenda_.now_us(); };
  options.monotonic = [this] { return agenda_.now_us(); };
  options.snapshot_every_records = kSnapshotEvery;
  options.records_kept = kRecordsKept;
  options.on_fatal = [this](const Error& error) {
    oracle_.fail("the controller gave up: " + error.message);
  };
  life_ = std::make_unique<Life>(network_, host_, log_, keeper_, std::move(options));
  oracle_.controller_started();  // its first decisions are made while it opens
  if (const Result<void> opened = life_->controller.open(); !opened.ok()) {
    // It ends with that message, and is started again.
    if (opened.error().kind == ErrorKind::kExhausted) throw ControllerKilled{};
    return oracle_.fail("the controller does not open: " + opened.error().message);
  }
  server::ApiOptions api;
  api.data_dir = options_.data_dir;
  api.heartbeat_us = api.count_every_us = options_.heartbeat_us;
  api.on_fatal = [this](const Error& error) {
    oracle_.fail("the server gave up: " + error.message);
  };
  auto made =
      server::ApiServer::make(life_->loop, std::move(api), life_->controller, life_->backend, log_);
  if (!made.ok()) return oracle_.fail("the server does not start: " + made.error().message);
  life_->api = std::move(made).value();
  life_->controller.start_by_hand([this] {
    if (life_->wake_soon) return;
    life_->wake_soon = true;
    work_in(100 + static_cast<std::int64_t>(random_.below(3'000)));
  });
  work_in(0);
}

void ControlPlane::work_in(std::int64_t delay_us) {
  const std::uint64_t number = ++life_->wake_number;
  life_->process.after(std::chrono::microseconds(delay_us), [this, number] {
    if (life_->wake_number == number) work();
  });
}

void ControlPlane::work() {
  life_->wake_soon = false;
  const std::int64_t idle_us = life_->controller.work();
  if (!life_->wake_soon) work_in(idle_us);
}

void ControlPlane::kill() {
  if (life_ == nullptr) return;
  trace_.add(agenda_.now_us(), "controller killed");
  // After a batch that did not become durable, memory is ahead of the log.
  const core::State& state = life_->controller.state();
  hash_before_ = state.head == log_.head().seq ? core::state_hash(state) : 0;
  life_.reset();
}

const core::State& ControlPlane::state() const { return life_->controller.state(); }

void ControlPlane::submit(std::vector<StampedEvent> events) {
  set_up(life_->controller, oracle_, std::move(events));
}

void set_up(controller::Controller& controller, Oracle& oracle, std::vector<StampedEvent> events) {
  controller::Input input;
  input.events = std::move(events);
  controller.submit(std::move(input), [&oracle](const Result<controller::Committed>& done) {
    if (!done.ok()) oracle.fail("the cluster cannot be set up: " + done.error().message);
  });
  controller.work();
}

void ControlPlane::verify_log() {
  const std::string difference = replay_.difference(log_, keeper_);
  if (!difference.empty()) oracle_.fail(difference);
}

}  // namespace dove::sim
