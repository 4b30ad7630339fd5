// Seat: one of several controllers that share a log: the real controller, its turn, its API server
// and what it answers while another one leads, on a machine of its own, in virtual time.
//
// It is killed, stands still, is cut off, and is started again as its unit would. One thread;
// whoever owns the database outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"
#include "server/server.h"
#include "sim/explore/agenda.h"
#include "sim/explore/network.h"
#include "sim/explore/oracle.h"
#include "sim/explore/shared_database.h"
#include "sim/explore/trace.h"

namespace dove::controller {
class Instants;
}

namespace dove::sim {

struct SeatOptions {
  const core::Policies* policies = nullptr;
  std::string name;  // of the machine
  std::string data_dir;
  std::int64_t heartbeat_us = 0;
  std::int64_t epoch_us = 0;    // UTC at the beginning of virtual time
  std::int64_t look_us = 0;     // of a standby that hears no news
  std::int64_t standby_us = 0;  // TurnOptions
};

// Thrown where a controller is killed in the middle of a turn.
struct SeatKilled {
  class Seat* seat;
};

class Seat {
 public:
  Seat(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace, SharedDatabase& database,
       SeatOptions options, std::uint64_t seed);
  ~Seat();

  Host& host() { return host_; }
  const std::string& name() const { return options_.name; }
  bool runs() const { return life_ != nullptr; }
  // Whether it believes that it leads.
  bool leads() const;
  // Whether it leads and its lease has not run out.
  bool holds() const;
  // The epoch of its term; 0 when it has none.
  Epoch epoch() const;
  // The next time that it leads.
  void once_leads(std::function<void()> fn) { once_leads_ = std::move(fn); }
  void start();
  void kill();
  // No process or thread of it runs for that long; the machine's clocks do.
  void stand_still(std::int64_t for_us);
  // Just after its next append is durable.
  void stand_still_after_append(std::int64_t for_us);
  void die_after_append() { after_append_ = After::kDie; }
  void spare() { after_append_ = After::kGoOn; }
  bool stands_still() const { return host_.stopped; }
  void cut_off_store(bool is_cut) { store_cut_ = is_cut; }
  void step_clock(std::int64_t by_us) { clock_ahead_us_ += by_us; }
  // One of its batches is durable.
  void appended();
  // REQUIRES: runs().
  const core::State& state() const;
  // As one input, at once; for what exists before there are clients. REQUIRES: leads().
  void submit(std::vector<StampedEvent> events);
  std::uint64_t handed() const { return handed_over_; }  // the number of hand-overs

 private:
  struct Life;
  enum class After { kGoOn, kStandStill, kDie };
  void go_on();
  Result<void> begin_standing();
  void follow();
  void take_turn_step();
  void hear();
  void turn_in(std::int64_t delay_us);
  void recovered();
  server::ApiOptions api_options();
  Result<void> take_turn();
  void hand_on();
  void stand_by_again();
  void work();
  void work_in(std::int64_t delay_us);
  void give_up(const Error& error);

  Agenda& agenda_;
  Network& network_;
  Oracle& oracle_;
  Trace& trace_;
  SharedDatabase& database_;
  const SeatOptions options_;
  Random random_;
  Host host_;
  bool store_cut_ = false;
  After after_append_ = After::kGoOn;
  std::int64_t still_us_ = 0;  // for After::kStandStill
  std::function<void()> once_leads_;
  std::int64_t clock_ahead_us_ = 0;
  std::unique_ptr<controller::Instants> instants_;
  std::uint64_t lives_ = 0;
  std::uint64_t handed_over_ = 0;
  std::unique_ptr<Life> life_;
};

}  // namespace dove::sim
