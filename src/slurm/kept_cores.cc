#include "slurm/kept_cores.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace dove::slurm {
namespace {

// What jobs have on a node.
struct Taken {
  std::set<int> cores;
  std::map<std::string, std::int64_t> by_reservation;
};

std::map<std::string, Taken> taken_on(const Observed& seen) {
  std::map<std::string, Taken> taken;
  for (const ReservationSeen& one : seen.in_part) {
    for (const std::string& name : one.names) taken[name];
  }
  for (const JobSeen& job : seen.jobs) {
    const bool holds = job.phase == JobPhase::kHolding || job.phase == JobPhase::kEnding;
    if (!holds || job.is_suspended()) continue;
    for (const NodeAllocation& held : job.allocations) {
      const auto node = taken.find(held.node);
      if (node == taken.end()) continue;
      node->second.cores.insert(held.cores.begin(), held.cores.end());
      if (job.reservation.empty()) continue;
      node->second.by_reservation[job.reservation] += std::ssize(held.cores);
    }
  }
  return taken;
}

// The most cores that the reservation may have on one of its nodes: it has one on each of the
// others.
std::int64_t most_on_one(const ReservationSeen& one) {
  return std::max<std::int64_t>(one.cores - std::ssize(one.names) + 1, 0);
}

// The cores that Slurm names there. A node that is not named among others has none.
const std::vector<int>& said_cores(const ReservationSeen& one, const std::string& node) {
  static const std::vector<int> none;
  const auto said = one.cores_of.find(node);
  return said == one.cores_of.end() ? none : said->second;
}

std::vector<int> last_cores(const NodeSeen& node, std::int64_t count) {
  std::vector<int> cores;
  const int end = node.cores_for_jobs();
  const int begin = static_cast<int>(std::max<std::int64_t>(end - count, 0));
  for (int core = begin; core < end; ++core) cores.push_back(core);
  return cores;
}

void add_later(const Observed& seen, std::vector<KeptCores>& all) {
  for (const ReservationSeen& one : seen.in_part_later) {
    for (const std::string& name : one.names) {
      const NodeSeen* node = seen.find_node(name);
      if (node == nullptr) continue;
      std::vector<int> cores =
          one.cores_of.empty() ? last_cores(*node, most_on_one(one)) : said_cores(one, name);
      if (!cores.empty())
        all.push_back({one.name, name, std::move(cores), one.ends_s, one.starts_s});
    }
  }
}

std::vector<KeptCores> kept_now(const Observed& seen) {
  std::vector<KeptCores> all;
  if (seen.in_part.empty()) return all;
  std::map<std::string, Taken> taken = taken_on(seen);
  const auto keep = [&](const ReservationSeen& one, const std::string& node,
                        std::vector<int> cores) {
    if (cores.empty()) return;
    std::sort(cores.begin(), cores.end());
    taken.at(node).cores.insert(cores.begin(), cores.end());
    all.push_back({one.name, node, std::move(cores), one.ends_s});
  };
  // First those that are known, which no other one can have.
  for (const ReservationSeen& one : seen.in_part) {
    for (const std::string& node : one.names) {
      std::vector<int> rest;
      for (const int core : said_cores(one, node)) {
        if (!taken.at(node).cores.contains(core)) rest.push_back(core);
      }
      keep(one, node, std::move(rest));
    }
  }
  for (const ReservationSeen& one : seen.in_part) {
    if (!one.cores_of.empty()) continue;
    for (const std::string& name : one.names) {
      const NodeSeen* node = seen.find_node(name);
      if (node == nullptr) continue;
      std::int64_t open = most_on_one(one) - taken.at(name).by_reservation[one.name];
      std::vector<int> rest;
      // The lowest ones are the system's, here, and the last ones Slurm's.
      for (int core = node->cores_for_jobs() - 1; core >= 0 && open > 0; --core) {
        if (taken.at(name).cores.contains(core)) continue;
        rest.push_back(core);
        --open;
      }
      keep(one, name, std::move(rest));
    }
  }
  return all;
}

}  // namespace

std::vector<KeptCores> kept_cores(const Observed& seen) {
  std::vector<KeptCores> all = kept_now(seen);
  add_later(seen, all);
  return all;
}

}  // namespace dove::slurm
