// Seats: several controllers of one cluster, the database that they share, and what happens to
// them. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/explore/clients.h"
#include "sim/explore/log_replay.h"
#include "sim/explore/machine.h"
#include "sim/explore/seat.h"
#include "sim/explore/shared_database.h"

namespace dove::sim {

struct SeatsOptions {
  std::int32_t count = 2;
  const core::Policies* policies = nullptr;
  std::string directory;
  std::string token;  // of the administrator
  std::int64_t heartbeat_us = 0;
  std::int64_t epoch_us = 0;
};

// What has happened to them.
struct SeatCounts {
  std::uint64_t terms = 0;
  std::uint64_t handed_over = 0;
  std::uint64_t killed = 0;
  std::uint64_t stood_still = 0;
  std::uint64_t cut = 0;  // off the store or agents; single agents, too
  std::uint64_t store_failovers = 0;
  std::uint64_t appends_unanswered = 0;
};

class Seats {
 public:
  Seats(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace, store::LogStore& log,
        store::LogKeeper& keeper, SeatsOptions options, std::uint64_t seed);
  ~Seats();

  static std::vector<std::string> names(std::int32_t count);
  // The first one starts, and the others with its keys once `leads` has happened: it leads.
  void start(std::function<void(Seat&)> leads);
  // Who decides; null: nobody now.
  Seat* leader();
  // Nobody has been able to decide for hours of the last few: what is overdue has its reason.
  bool was_long_absent() const;
  void verify_log();
  // From now on faults come to them; `recur` is Weather's. Both others outlive it.
  using Recur = std::function<void(std::int64_t mean_us, std::function<void()> fault)>;
  void begin_faults(const Recur& recur, std::vector<std::unique_ptr<Machine>>& machines,
                    Clients& clients);
  // No more faults; everything that is down comes back within a day.
  void clear_up();
  void was_killed(Seat& seat);
  SeatCounts counts() const;

 private:
  std::string directory_of(const std::string& name) const;
  void durable(const store::Batch& batch, bool is_late);
  void watch();
  void share_keys();
  void database_faults(const Recur& recur);
  void kill();
  void stand_still();
  void cut(bool from_store, bool from_agents);
  void part(Machine& machine, Seat& seat, std::int64_t for_us);
  void strand();
  void part_stranded(Seat& writer, const store::Batch& batch);
  void fail_over();
  void step_clock();
  Seat& any() { return *seats_[random_.below(seats_.size())]; }
  Seat& any_but_mostly_leader();
  std::int64_t some(std::int64_t most_us) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most_us)));
  }
  std::int64_t outage_us();

  Agenda& agenda_;
  Network& network_;
  Oracle& oracle_;
  const SeatsOptions options_;
  Random random_;
  SharedDatabase database_;
  LogReplay replay_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::function<void(Seat&)> first_leads_;
  std::vector<std::unique_ptr<Machine>>* machines_ = nullptr;  // once faults come
  bool strands_ = false;                                       // the next node that connects
  SeatCounts counts_;
  std::int64_t led_at_us_ = 0;  // by whoever held the lease
  std::int64_t absent_until_us_ = 0;
};

}  // namespace dove::sim
