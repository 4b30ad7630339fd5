#include "sim/explore/seats.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <variant>

#include "controller/ledger.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;
constexpr std::int64_t kDay_us = 24 * kHour_us;

// As everything that is agreed on, it is stretched, and is renewed three times in its length.
constexpr std::int64_t kLease_us = 60 * kSecond_us;
constexpr std::int64_t kLook_us = 40 * kSecond_us;
constexpr std::int64_t kStandby_us = 200 * kSecond_us;
constexpr std::int64_t kWatch_us = 600 * kSecond_us;
constexpr std::int64_t kAbsent_us = kHour_us;       // as long as one controller is away at most
constexpr std::int64_t kOverdue_us = 5 * kHour_us;  // longer than the oracle's
constexpr std::int64_t kClockStep_us = 2 * kHour_us;
constexpr std::int64_t kLong_us = 16 * kHour_us;  // beyond every grace

}  // namespace

Seats::Seats(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace, store::LogStore& log,
             store::LogKeeper& keeper, SeatsOptions options, std::uint64_t seed)
    : agenda_(agenda),
      network_(network),
      oracle_(oracle),
      options_(std::move(options)),
      random_(seed),
      database_(agenda, log, keeper, kLease_us, random_.next()),
      replay_(*options_.policies) {
  for (const std::string& name : names(options_.count)) {
    SeatOptions of;
    of.policies = options_.policies;
    of.name = name;
    of.data_dir = directory_of(name);
    of.heartbeat_us = options_.heartbeat_us;
    of.epoch_us = options_.epoch_us;
    of.look_us = kLook_us;
    of.standby_us = kStandby_us;
    seats_.push_back(std::make_unique<Seat>(agenda, network, oracle, trace, database_,
                                            std::move(of), random_.next()));
  }
  database_.on_durable(
      [this](const store::Batch& batch, bool is_late) { durable(batch, is_late); });
  database_.on_term([this](Epoch epoch) {
    ++counts_.terms;
    oracle_.term_begun(epoch);
    oracle_.controller_started();  // its first decisions are made while it opens
  });
}

Seats::~Seats() = default;

std::vector<std::string> Seats::names(std::int32_t count) {
  std::vector<std::string> all;
  for (std::int32_t i = 1; i <= count; ++i) all.push_back(fmt::format("ctl{}", i));
  return all;
}

std::string Seats::directory_of(const std::string& name) const {
  return options_.directory + "/" + name;
}

// Its writer has folded it, unless it was given up.
void Seats::durable(const store::Batch& batch, bool is_late) {
  const auto writer = std::find_if(seats_.begin(), seats_.end(),
                                   [&](const auto& seat) { return seat->epoch() == batch.epoch; });
  if (!is_late && writer != seats_.end()) {
    oracle_.durable(batch, (*writer)->state());
    part_stranded(**writer, batch);
    return (*writer)->appended();
  }
  controller::Ledger ledger;
  const Result<void> read = ledger.recover(database_.records(), database_.keeper());
  if (!read.ok()) return oracle_.fail("recovery: " + read.error().message);
  oracle_.durable(batch, ledger.state());
}

void Seats::start(std::function<void(Seat&)> leads) {
  const std::string first = directory_of(seats_.front()->name());
  std::ofstream(first + "/token") << options_.token << "\n";
  std::ofstream(first + "/secret") << "explored-secret-of-the-server\n";
  seats_.front()->once_leads([this, leads = std::move(leads)] {
    share_keys();
    for (const auto& seat : seats_) seat->start();
    leads(*seats_.front());
  });
  seats_.front()->start();
}

void Seats::share_keys() {
  const std::string first = directory_of(seats_.front()->name());
  for (std::size_t i = 1; i < seats_.size(); ++i) {
    std::filesystem::copy(first, directory_of(seats_[i]->name()),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }
}

// A former leader may not know yet that it is one.
Seat* Seats::leader() {
  for (const auto& seat : seats_) {
    if (seat->leads() && seat->epoch() == database_.newest_epoch()) return seat.get();
  }
  return nullptr;
}

void Seats::watch() {
  const std::int64_t now_us = agenda_.now_us();
  Seat* const leading = leader();
  if (leading != nullptr && leading->holds() && !leading->stands_still()) led_at_us_ = now_us;
  if (now_us - led_at_us_ > kAbsent_us) absent_until_us_ = now_us;
  agenda_.in(kWatch_us, [this] { watch(); });
}

bool Seats::was_long_absent() const {
  return absent_until_us_ != 0 && agenda_.now_us() - absent_until_us_ < kOverdue_us;
}

void Seats::verify_log() {
  const std::string difference = replay_.difference(database_.records(), database_.keeper());
  if (!difference.empty()) oracle_.fail(difference);
}

// -- faults --------------------------------------------------------------------------------------

void Seats::begin_faults(const Recur& recur, std::vector<std::unique_ptr<Machine>>& machines,
                         Clients& clients) {
  machines_ = &machines;
  const auto nodes = static_cast<std::int64_t>(machines.size());
  recur(kDay_us / 2, [this] { kill(); });
  recur(kDay_us, [this] { stand_still(); });
  recur(kDay_us, [&clients] { clients.call("POST", "/v1/controllers/hand-over", "{}"); });
  recur(2 * kDay_us, [this] { cut(/*from_store=*/true, /*from_agents=*/false); });
  recur(4 * kDay_us, [this] { cut(/*from_store=*/false, /*from_agents=*/true); });
  recur(6 * kDay_us, [this] { cut(/*from_store=*/true, /*from_agents=*/true); });
  recur(10 * kDay_us / nodes, [this, &machines] {
    Machine& machine = *machines[random_.below(machines.size())];
    Seat& seat = any();
    part(machine, seat, outage_us());
  });
  recur(2 * kDay_us, [this] { strand(); });
  recur(3 * kDay_us, [this] { step_clock(); });
  database_faults(recur);
  watch();
}

void Seats::database_faults(const Recur& recur) {
  using Fault = SharedDatabase::Fault;
  recur(kDay_us, [this] {
    constexpr Fault kUnknown[] = {Fault::kNotDone, Fault::kDone, Fault::kDoneLater};
    database_.next_append(kUnknown[random_.below(3)]);
  });
  recur(4 * kDay_us, [this] { database_.next_renewal_unanswered(); });
  recur(4 * kDay_us, [this] { database_.next_term_unanswered(); });
  recur(5 * kDay_us, [this] { database_.next_append(Fault::kFull, 3); });
  recur(5 * kDay_us, [this] { fail_over(); });
}

Seat& Seats::any_but_mostly_leader() {
  Seat* const leading = leader();
  return leading == nullptr || random_.below(4) == 0 ? any() : *leading;
}

std::int64_t Seats::outage_us() {
  const std::uint64_t kind = random_.below(100);
  if (kind < 50) return some(3 * kLease_us);
  if (kind < 90) return some(kHour_us);
  return some(kLong_us);
}

void Seats::kill() {
  Seat& seat = any_but_mostly_leader();
  if (!seat.runs()) return;
  if (random_.below(2) == 0) return seat.die_after_append();
  seat.kill();
  was_killed(seat);
}

void Seats::was_killed(Seat& seat) {
  ++counts_.killed;
  agenda_.in(outage_us(), [&seat] { seat.start(); });
}

// Shorter than its lease, a little longer, or long.
void Seats::stand_still() {
  Seat& seat = any_but_mostly_leader();
  if (!seat.runs() || seat.stands_still()) return;
  ++counts_.stood_still;
  const std::int64_t for_us = random_.below(2) == 0 ? some(3 * kLease_us) : outage_us();
  if (random_.below(2) == 0) {
    seat.stand_still_after_append(for_us);
  } else {
    seat.stand_still(for_us);
  }
}

void Seats::cut(bool from_store, bool from_agents) {
  Seat& seat = any_but_mostly_leader();
  if (seat.host().cut) return;
  ++counts_.cut;
  if (from_store) seat.cut_off_store(true);
  if (from_agents) network_.cut(seat.host());
  const bool reset = random_.below(2) == 0;
  agenda_.in(outage_us(), [this, &seat, from_store, from_agents, reset] {
    if (from_store) seat.cut_off_store(false);
    if (from_agents && seat.host().cut) network_.heal(seat.host(), reset);
  });
}

void Seats::part(Machine& machine, Seat& seat, std::int64_t for_us) {
  if (machine.host().apart.count(&seat.host()) != 0) return;
  ++counts_.cut;
  network_.part(machine.host(), seat.host());
  const bool reset = random_.below(2) == 0;
  agenda_.in(for_us, [this, &machine, &seat, reset] {
    network_.rejoin(machine.host(), seat.host(), reset);
  });
}

// The leader is down for long, and a node does not reach who takes over once its sync is taken: the
// one refuses its connections, the other counts on its silence.
void Seats::strand() {
  Seat* const leading = leader();
  if (leading == nullptr) return;
  leading->kill();
  ++counts_.killed;
  agenda_.in(some(kLong_us), [leading] { leading->start(); });
  strands_ = true;
}

// Before it hears that it is connected.
void Seats::part_stranded(Seat& writer, const store::Batch& batch) {
  for (const StampedEvent& event : batch.events) {
    const auto* connected = std::get_if<NodeConnected>(&event.event);
    if (connected == nullptr || !std::exchange(strands_, false)) continue;
    part(*machines_->at(connected->node.value - 1), writer, some(kLong_us));
  }
}

// It is away until another of its machines has taken over; or the one is back, with all that it
// knew.
void Seats::fail_over() {
  ++counts_.store_failovers;
  database_.set_away(true);
  const std::int64_t away_us = random_.below(3) == 0 ? outage_us() : some(60 * kSecond_us);
  agenda_.in(away_us, [this] {
    database_.set_away(false);
    database_.fail_over();
  });
}

void Seats::step_clock() {
  Seat& seat = any();
  const std::int64_t most_us = random_.below(2) == 0 ? kClockStep_us : 60 * kSecond_us;
  seat.step_clock(some(2 * most_us) - most_us);
}

void Seats::clear_up() {
  database_.next_append(SharedDatabase::Fault::kNone, 0);
  strands_ = false;
  for (const auto& seat : seats_) seat->spare();
}

SeatCounts Seats::counts() const {
  SeatCounts made = counts_;
  made.appends_unanswered = database_.appends_unanswered();
  for (const auto& seat : seats_) made.handed_over += seat->handed();
  return made;
}

}  // namespace dove::sim
