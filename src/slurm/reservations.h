// Slurm's reservations, now and to come: of whole nodes, and of some cores.
//
// Before one begins, Slurm refuses placeholders that would be in its way.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/observed.h"

namespace dove::slurm {

// As `scontrol show reservation --oneliner` prints them with times in seconds. Lines that name no
// nodes are passed over. Pure.
std::vector<ReservationSeen> read_reservation_lines(std::string_view text);

// What was last read of them. They change seldom: they are read again every few seconds, and as
// soon as another node than before is in one.
class Reservations {
 public:
  bool is_due(const std::vector<NodeSeen>& nodes) const;
  // Those on nodes that are known. `nodes`: as they were seen just before. One that floats keeps
  // the begin that it had, which is a little earlier, until it is too early: the ledger is to hear
  // of another one seldom. `now_s`: since 1970 UTC.
  void keep(std::vector<ReservationSeen> all, std::vector<NodeSeen>& nodes, std::int64_t now_s);
  // Adds them to what is seen, and says of its nodes which are reserved now. A node under
  // maintenance, of whose reservation nothing is known, counts as drained.
  void add_to(Observed& seen) const;

 private:
  void settle_begin(ReservationSeen& one, std::int64_t now_s);

  std::vector<ReservationSeen> all_;              // of whole nodes
  std::vector<ReservationSeen> in_part_;          // of some cores
  std::map<std::string, std::int64_t> begins_s_;  // as last told, of those that float
  std::set<std::string> inside_;                  // the nodes that were in one
  std::optional<std::chrono::steady_clock::time_point> read_at_;
};

}  // namespace dove::slurm
