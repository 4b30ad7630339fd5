#include "sim/explore/seat.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "backends/native/native_backend.h"
#include "controller/controller.h"
#include "controller/instants.h"
#include "controller/ledger.h"
#include "controller/turn.h"
#include "core/cycle/cycle.h"
#include "core/state/hash.h"
#include "server/standing/standby_reads.h"
#include "sim/explore/control_plane.h"
#include "sim/explore/process.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::sim {
namespace {

constexpr std::uint64_t kSnapshotEvery = 10'000;
constexpr std::uint64_t kRecordsKept = 400'000;
constexpr std::chrono::seconds kRetired{60};
constexpr std::int64_t kRestart_us = 5'000'000;
constexpr std::uint64_t kFoldPause_us = 20'000'000;  // at most, for what is written meanwhile

std::string url_of(const std::string& name) { return "http://" + name + ":1"; }

}  // namespace

struct Seat::Life {
  Life(Network& network, Host& host, SharedDatabase& database, const bool& cut,
       const std::string& name, controller::ControllerOptions options)
      : process(network, host),
        deciding(network, host),
        standing(network, host),
        loop(process),
        log(database, cut, name, url_of(name)),
        controller(log, log, backend, std::move(options)) {}

  struct Retired {
    std::unique_ptr<server::ApiServer> api;
    std::unique_ptr<server::StandbyReads> reads;
    wire::Timer ends;
  };

  Process process;
  Process deciding;  // the controller's thread
  Process standing;  // its turn's
  wire::Loop loop;
  SharedLog log;
  backends::NativeBackend backend;
  controller::Controller controller;
  std::optional<controller::Turn> turn;
  std::unique_ptr<server::StandbyReads> reads;
  std::unique_ptr<wire::Server> page;  // what it answers while another one leads
  std::unique_ptr<server::ApiServer> api;
  std::deque<Retired> retired;
  std::int64_t looked_us = -1;  // at what another one wrote; -1: not yet
  std::int64_t heard_us = 0;    // the last stamp of these
  bool opens = false;           // or looks whether it may
  bool running = false;         // the controller
  bool rests = false;
  std::uint64_t term = 0;         // turns so far: what is due for a former one is not done
  std::uint64_t turn_number = 0;  // only the last step asked for counts, and so below
  std::int64_t turn_due_us = 0;   // of the step asked for; 0: none is
  std::uint64_t wake_number = 0;
  bool wake_soon = false;
};

Seat::Seat(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace, SharedDatabase& database,
           SeatOptions options, std::uint64_t seed)
    : agenda_(agenda),
      network_(network),
      oracle_(oracle),
      trace_(trace),
      database_(database),
      options_(std::move(options)),
      random_(seed) {
  host_.name = options_.name;
  std::filesystem::create_directories(options_.data_dir);
}

Seat::~Seat() = default;

bool Seat::leads() const { return life_ != nullptr && life_->running; }

bool Seat::holds() const { return leads() && life_->turn && life_->turn->holds(); }

Epoch Seat::epoch() const { return life_ == nullptr ? Epoch{} : life_->log.epoch(); }

const core::State& Seat::state() const { return life_->controller.state(); }

void Seat::start() {
  if (life_ != nullptr) return;
  trace_.add(agenda_.now_us(), options_.name + ": controller starts");
  ++lives_;
  controller::ControllerOptions options;
  options.policies = options_.policies;
  options.policy_digest = core::policy_digest(*options_.policies);
  options.build = "explored";
  options.holder = options_.name;
  const auto wall = [this] { return options_.epoch_us + agenda_.now_us() + clock_ahead_us_; };
  const auto steady = [this] { return agenda_.now_us(); };
  // It goes on where its process before was (ControllerOptions::begin_us).
  const std::int64_t begin_us = instants_ == nullptr ? 0 : instants_->now_us();
  instants_ = std::make_unique<controller::Instants>(wall, steady, begin_us);
  options.clock = [this] {
    // It is asked for the first instant of its term before it says that it leads.
    if (life_ != nullptr && life_->opens) {
      hear();
      instants_->begin(life_->controller.state().now.us);
    }
    return instants_->now_us();
  };
  options.monotonic = [this] { return agenda_.now_us(); };
  options.snapshot_every_records = kSnapshotEvery;
  options.records_kept = kRecordsKept;
  options.on_fatal = [this](const Error& error) { give_up(error); };
  life_ = std::make_unique<Life>(network_, host_, database_, store_cut_, options_.name,
                                 std::move(options));
  const Result<void> stands = begin_standing();
  if (!stands.ok()) oracle_.fail(options_.name + " does not start: " + stands.error().message);
}

void Seat::kill() {
  if (life_ == nullptr) return;
  trace_.add(agenda_.now_us(), options_.name + ": controller killed");
  after_append_ = After::kGoOn;
  life_.reset();
  host_.stalled.clear();
  if (host_.stopped) network_.go_on(host_);
}

void Seat::stand_still(std::int64_t for_us) {
  if (life_ == nullptr || host_.stopped) return;
  trace_.add(agenda_.now_us(), options_.name + ": stands still");
  network_.stop(host_);
  agenda_.in(for_us, [this] { go_on(); });
}

void Seat::stand_still_after_append(std::int64_t for_us) {
  after_append_ = After::kStandStill;
  still_us_ = for_us;
}

void Seat::go_on() {
  if (!host_.stopped) return;
  trace_.add(agenda_.now_us(), options_.name + ": goes on");
  network_.go_on(host_);
}

void Seat::appended() {
  switch (std::exchange(after_append_, After::kGoOn)) {
    case After::kGoOn:
      return;
    case After::kStandStill:
      return stand_still(still_us_);
    case After::kDie:
      throw SeatKilled{this};
  }
}

// Its process ends with that message, and its unit starts it again. In a turn of its own: this may
// be said from within what it ends.
void Seat::give_up(const Error& error) {
  trace_.add(agenda_.now_us(), fmt::format("{}: gives up: {}", options_.name, error.message));
  life_->running = false;
  life_->process.after(std::chrono::microseconds(0), [this] {
    agenda_.in(0, [this, number = lives_] {
      if (life_ == nullptr || lives_ != number) return;
      life_->log.release();
      kill();
      agenda_.in(kRestart_us, [this] { start(); });
    });
  });
}

void Seat::submit(std::vector<StampedEvent> events) {
  set_up(life_->controller, oracle_, std::move(events));
}

// -- another one leads ---------------------------------------------------------------------------

Result<void> Seat::begin_standing() {
  Life& life = *life_;
  life.page = std::make_unique<wire::Server>(
      life.loop, wire::ServerLimits(),
      [this](wire::Request request, std::shared_ptr<wire::Responder> out) {
        Life& now = *life_;
        if (now.reads != nullptr && now.reads->answer(request, out)) return;
        const Error why{ErrorKind::kUnavailable, "not_leader", "it stands by", ""};
        out->send(server::refused_by_standby(why, ""));
      });
  TRY(life.page->listen("", 1));
  follow();
  controller::TurnOptions options;
  options.lease_us = database_.lease_us();
  options.monotonic = [this] { return agenda_.now_us(); };
  options.look_us = options_.look_us;
  options.others_look_us = options_.look_us;
  options.standby_us = options_.standby_us;
  controller::Turn::Calls calls;
  calls.over = [this](const Error& error) { give_up(error); };
  calls.leads = [this] {
    recovered();
    life_->loop.post([this] {
      const Result<void> led = take_turn();
      if (!led.ok()) oracle_.fail(options_.name + " does not lead: " + led.error().message);
    });
  };
  calls.rests = [this] { life_->rests = true; };
  calls.handed = [this] {
    ++handed_over_;
    trace_.add(agenda_.now_us(), options_.name + ": has handed over");
    life_->loop.post([this] { hand_on(); });
  };
  life.turn.emplace(life.log, life.log, life.controller, std::move(options), std::move(calls));
  ++life.term;
  life.turn_due_us = 0;
  life.looked_us = -1;
  life.log.on_news([this] {
    if (!life_->turn->leads()) {
      turn_in(20'000 + static_cast<std::int64_t>(random_.below(kFoldPause_us)));
    }
  });
  turn_in(0);
  return {};
}

// What it leads with is what is durable, as somebody reads it who has folded nothing before.
void Seat::recovered() {
  controller::Ledger ledger;
  const Result<void> read = ledger.recover(database_.records(), database_.keeper());
  if (!read.ok()) return oracle_.fail("recovery: " + read.error().message);
  oracle_.recovered(life_->controller.state(), core::state_hash(ledger.state()));
}

void Seat::follow() {
  controller::Controller::Following calls;
  calls.whole = [this](const core::State& state) {
    life_->loop.post([this, folded = std::make_shared<core::State>(state)] {
      Life& life = *life_;
      if (life.page == nullptr) return;
      server::StandbyOptions options;
      options.data_dir = options_.data_dir;
      options.not_leader = [] {
        return Error{ErrorKind::kUnavailable, "not_leader", "it stands by", ""};
      };
      options.leader_url = [] { return std::string(); };
      options.count_every_us = options_.heartbeat_us;
      life.reads.reset();
      auto made = server::StandbyReads::make(life.loop, std::move(options), life.controller,
                                             life.log, std::move(*folded));
      if (!made.ok()) return oracle_.fail("a standby cannot read: " + made.error().message);
      life.reads = std::move(made).value();
    });
    return true;
  };
  calls.batch = [this](std::shared_ptr<const controller::CommittedBatch> batch) {
    life_->loop.post([this, batch = std::move(batch)]() mutable {
      if (life_->reads != nullptr) life_->reads->fold(std::move(batch));
    });
  };
  life_->controller.on_following(std::move(calls));
}

// The earliest of what was asked for counts.
void Seat::turn_in(std::int64_t delay_us) {
  Life& life = *life_;
  const std::int64_t due_us = agenda_.now_us() + delay_us;
  if (life.turn_due_us != 0 && life.turn_due_us <= due_us) return;
  life.turn_due_us = due_us;
  const std::uint64_t number = ++life.turn_number;
  life.standing.after(std::chrono::microseconds(delay_us), [this, number, term = life.term] {
    if (life_->turn_number == number && life_->term == term) take_turn_step();
  });
}

// As the controller does where the clocks are its own (Controller::open).
void Seat::hear() {
  Life& life = *life_;
  const std::int64_t stamped_us = life.controller.state().now.us;
  const std::int64_t late_us = agenda_.now_us() - life.looked_us;
  if (life.looked_us >= 0 && stamped_us > life.heard_us) instants_->heard(stamped_us, late_us);
  life.heard_us = stamped_us;
  life.looked_us = agenda_.now_us();
}

void Seat::take_turn_step() {
  life_->turn_due_us = 0;
  life_->opens = !life_->turn->leads();
  const controller::Turn::Next next = life_->turn->step();
  if (std::exchange(life_->opens, false) && !life_->turn->leads()) hear();
  if (next.is_over) return life_->log.on_news(nullptr);
  turn_in(next.in_us);
}

// -- it leads ------------------------------------------------------------------------------------

server::ApiOptions Seat::api_options() {
  server::ApiOptions options;  // its log counts as near: what is asked of it needs no other thread
  options.data_dir = options_.data_dir;
  options.heartbeat_us = options.count_every_us = options_.heartbeat_us;
  options.on_fatal = [this](const Error& error) { give_up(error); };
  options.silence = [this]() -> std::optional<Error> {
    if (life_->turn->holds() && !life_->rests) {
      oracle_.answers(options_.name, life_->controller.state().epoch);
      return std::nullopt;
    }
    return Error{ErrorKind::kUnavailable, life_->rests ? "not_leader" : "lease_over",
                 "another may lead by now", ""};
  };
  options.controllers.hand_over = [this](const std::string& to) -> Result<server::ControllerPeer> {
    TRY_ASSIGN(const store::ControllerSeen next, life_->turn->hand_over(to));
    turn_in(0);
    return server::ControllerPeer{next.name, next.url, "", false, next.folded.value, next.ago_us};
  };
  return options;
}

Result<void> Seat::take_turn() {
  Life& life = *life_;
  trace_.add(agenda_.now_us(), fmt::format("{}: leads, epoch {}", options_.name,
                                           life.controller.state().epoch.value));
  life.page.reset();
  if (life.reads != nullptr) {
    life.reads->let_go();
    life.retired.push_back({nullptr, std::move(life.reads),
                            life.loop.after(kRetired, [this] { life_->retired.pop_front(); })});
  }
  life.controller.on_following({});
  TRY_ASSIGN(life.api, server::ApiServer::make(life.loop, api_options(), life.controller,
                                               life.backend, life.log));
  life.controller.start_by_hand([this] {
    if (life_->wake_soon) return;
    life_->wake_soon = true;
    work_in(100 + static_cast<std::int64_t>(random_.below(3'000)));
  });
  life.running = true;
  work_in(0);
  if (const auto told = std::exchange(once_leads_, nullptr)) told();
  return {};
}

void Seat::work_in(std::int64_t delay_us) {
  const std::uint64_t number = ++life_->wake_number;
  life_->deciding.after(std::chrono::microseconds(delay_us), [this, number] {
    if (life_->wake_number == number && life_->running) work();
  });
}

void Seat::work() {
  life_->wake_soon = false;
  const std::int64_t idle_us = life_->controller.work();
  if (life_->running && !life_->wake_soon) work_in(idle_us);
}

void Seat::hand_on() {
  life_->running = false;
  life_->wake_soon = false;
  life_->api->shutdown([this] { life_->loop.post([this] { stand_by_again(); }); });
}

void Seat::stand_by_again() {
  Life& life = *life_;
  life.turn.reset();
  life.api->retire();
  life.controller.forget_observers();
  life.retired.push_back({std::move(life.api), nullptr,
                          life.loop.after(kRetired, [this] { life_->retired.pop_front(); })});
  life.rests = false;
  const Result<void> stands = begin_standing();
  if (!stands.ok()) oracle_.fail(options_.name + ": " + stands.error().message);
}

}  // namespace dove::sim
