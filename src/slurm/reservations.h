// Slurm's reservations of whole nodes, now and to come.
//
// Where a node is reserved in part, Slurm gives the rest of it to placeholders, or refuses them.
#pragma once

#include <chrono>
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
  // Those of whole nodes that are known. `nodes`: as they were seen just before.
  void keep(std::vector<ReservationSeen> all, std::vector<NodeSeen>& nodes);
  // Adds them to what is seen, and says of its nodes which are reserved now.
  void add_to(Observed& seen) const;

 private:
  std::vector<ReservationSeen> all_;
  std::set<std::string> inside_;  // the nodes that were in one
  std::optional<std::chrono::steady_clock::time_point> read_at_;
};

}  // namespace dove::slurm
