#include "slurm/reservations.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>

#include "codec/quantity.h"
#include "slurm/oneliner.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

constexpr std::chrono::seconds kReadEvery{10};

// 0: it is no number.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ptr == text.data() + text.size() ? number : 0;
}

using NodesByName = std::unordered_map<std::string_view, NodeSeen*>;

NodesByName by_name(std::vector<NodeSeen>& nodes) {
  NodesByName found;
  for (NodeSeen& node : nodes) found.emplace(node.name, &node);
  return found;
}

std::set<std::string> nodes_inside(const std::vector<NodeSeen>& nodes) {
  std::set<std::string> inside;
  for (const NodeSeen& node : nodes) {
    if (node.is_in_reservation) inside.insert(node.name);
  }
  return inside;
}

}  // namespace

std::vector<ReservationSeen> read_reservation_lines(std::string_view text) {
  std::vector<ReservationSeen> all;
  for (const std::string_view line : lines_of(text)) {
    ReservationSeen one;
    one.name = value_of(line, "ReservationName=");
    one.nodes = value_of(line, "Nodes=");
    one.starts_s = number_in(value_of(line, "StartTime="));
    one.ends_s = number_in(value_of(line, "EndTime="));
    one.is_active = value_of(line, "State=") == "ACTIVE";
    one.cores = number_in(value_of(line, "CoreCnt="));
    // One whose begin is always so much later than now keeps nobody off for good.
    const bool floats = value_of(line, "Flags=").find("TIME_FLOAT") != std::string_view::npos;
    const bool has_all = !one.name.empty() && !one.nodes.empty() && one.ends_s > one.starts_s;
    if (has_all && !floats) all.push_back(std::move(one));
  }
  return all;
}

bool Reservations::is_due(const std::vector<NodeSeen>& nodes) const {
  if (!read_at_ || std::chrono::steady_clock::now() - *read_at_ >= kReadEvery) return true;
  return nodes_inside(nodes) != inside_;
}

// Slurm lists the cores of one that has only some, but not always (22.05): they are counted.
void Reservations::keep(std::vector<ReservationSeen> all, std::vector<NodeSeen>& nodes) {
  all_.clear();
  inside_ = nodes_inside(nodes);
  read_at_ = std::chrono::steady_clock::now();
  const NodesByName known = by_name(nodes);
  for (ReservationSeen& one : all) {
    // With nodes named one by one: a list is expanded once, and not for each node.
    one.names.clear();
    std::int64_t cores = 0;
    for (std::string& name : text::expand_hostlist(one.nodes)) {
      const auto node = known.find(name);
      if (node == known.end()) continue;
      cores += node->second->cores();
      one.names.push_back(std::move(name));
    }
    if (!one.names.empty() && one.cores >= cores) all_.push_back(std::move(one));
  }
}

void Reservations::add_to(Observed& seen) const {
  seen.reservations = all_;
  if (all_.empty()) return;
  const NodesByName known = by_name(seen.nodes);
  for (const ReservationSeen& one : all_) {
    if (!one.is_active) continue;
    for (const std::string& name : one.names) {
      const auto node = known.find(name);
      if (node == known.end() || !node->second->is_in_reservation) continue;
      node->second->reserved = fmt::format("reserved in Slurm: {} until {}", one.name,
                                           codec::rfc3339(Instant{one.ends_s * 1'000'000}));
    }
  }
}

}  // namespace dove::slurm
