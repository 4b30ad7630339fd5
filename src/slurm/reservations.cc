#include "slurm/reservations.h"

#include <fmt/format.h>

#include <algorithm>
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
// One that floats may begin too early, for the ledger, by this part of the time until then.
constexpr std::int64_t kFloatParts = 8;
constexpr std::int64_t kFloatLeast_s = 60;
constexpr int kCoresMax = 65'536;  // of a node

// 0: it is no number.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ptr == text.data() + text.size() ? number : 0;
}

// "0-1,4"; empty: it is not understood.
std::vector<int> cores_in(std::string_view list) {
  std::vector<int> cores;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    int first = 0;
    const char* const end = part.data() + part.size();
    auto at = std::from_chars(part.data(), end, first);
    int last = first;
    if (at.ec == std::errc() && at.ptr != end && *at.ptr == '-') {
      at = std::from_chars(at.ptr + 1, end, last);
    }
    if (at.ec != std::errc() || at.ptr != end || first < 0 || last >= kCoresMax) return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

// From "NodeName=n1 CoreIDs=0-1 NodeName=n2 CoreIDs=4", in one line.
std::map<std::string, std::vector<int>> cores_by_node(std::string_view line) {
  constexpr std::string_view kNode = " NodeName=";
  std::map<std::string, std::vector<int>> all;
  for (std::size_t at = line.find(kNode); at != std::string_view::npos; at = line.find(kNode)) {
    line.remove_prefix(at + 1);
    const std::string_view part = line.substr(0, line.find(kNode));
    std::vector<int> cores = cores_in(value_of(part, "CoreIDs="));
    if (cores.empty()) return {};
    all[std::string(value_of(part, "NodeName="))] = std::move(cores);
  }
  return all;
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
    one.floats = value_of(line, "Flags=").find("TIME_FLOAT") != std::string_view::npos;
    one.cores_of = cores_by_node(line);
    const bool has_all = !one.name.empty() && !one.nodes.empty() && one.ends_s > one.starts_s;
    if (has_all) all.push_back(std::move(one));
  }
  return all;
}

bool Reservations::is_due(const std::vector<NodeSeen>& nodes) const {
  if (!read_at_ || std::chrono::steady_clock::now() - *read_at_ >= kReadEvery) return true;
  return nodes_inside(nodes) != inside_;
}

// Slurm lists the cores of one that has only some, but not always (22.05): they are counted.
void Reservations::keep(std::vector<ReservationSeen> all, std::vector<NodeSeen>& nodes,
                        std::int64_t now_s) {
  all_.clear();
  in_part_.clear();
  std::erase_if(begins_s_, [&](const auto& told) {
    return std::none_of(all.begin(), all.end(), [&](const ReservationSeen& one) {
      return one.floats && one.name == told.first;
    });
  });
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
    if (one.names.empty()) continue;
    const bool is_in_part = one.cores < cores;
    if (is_in_part && !one.floats) in_part_.push_back(std::move(one));
    if (is_in_part) continue;
    if (one.floats) settle_begin(one, now_s);
    all_.push_back(std::move(one));
  }
}

void Reservations::settle_begin(ReservationSeen& one, std::int64_t now_s) {
  const std::int64_t lasts_s = one.ends_s - one.starts_s;
  const std::int64_t early_s =
      std::max<std::int64_t>((one.starts_s - now_s) / kFloatParts, kFloatLeast_s);
  const auto [told, is_new] = begins_s_.try_emplace(one.name, one.starts_s);
  const bool is_good = told->second <= one.starts_s && one.starts_s - told->second < early_s;
  if (!is_good) told->second = one.starts_s;
  one.starts_s = told->second;
  one.ends_s = one.starts_s + lasts_s;
}

void Reservations::add_to(Observed& seen) const {
  seen.reservations = all_;
  seen.in_part.clear();
  seen.in_part_later.clear();
  const NodesByName known = by_name(seen.nodes);
  std::set<std::string_view> explained;
  const auto explain = [&](const ReservationSeen& one) {
    explained.insert(one.names.begin(), one.names.end());
  };
  for (const ReservationSeen& one : in_part_) {
    (one.is_active ? seen.in_part : seen.in_part_later).push_back(one);
    if (one.is_active) explain(one);
  }
  for (const ReservationSeen& one : all_) {
    if (!one.is_active || one.floats) continue;
    explain(one);
    for (const std::string& name : one.names) {
      const auto node = known.find(name);
      if (node == known.end() || !node->second->is_in_reservation) continue;
      node->second->reserved = fmt::format("reserved in Slurm: {} until {}", one.name,
                                           codec::rfc3339(Instant{one.ends_s * 1'000'000}));
    }
  }
  for (NodeSeen& node : seen.nodes) {
    const bool is_up = node.state == NodeSeen::State::kUp;
    if (!is_up || !node.is_in_maintenance || explained.contains(node.name)) continue;
    node.state = NodeSeen::State::kDrained;
    node.reason = "MAINTENANCE";
  }
}

}  // namespace dove::slurm
