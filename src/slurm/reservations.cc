#include "slurm/reservations.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>

#include "codec/quantity.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

constexpr std::chrono::seconds kReadEvery{10};

// The value of " KEY=" in the line, up to the next space; "": there is none.
std::string_view value_of(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  // Keys end other keys: "Nodes=" is in "BurstNodes=", too.
  while (at != std::string_view::npos && at > 0 && line[at - 1] != ' ') {
    at = line.find(key, at + 1);
  }
  if (at == std::string_view::npos) return "";
  line.remove_prefix(at + key.size());
  return line.substr(0, line.find(' '));
}

// 0: it is no number.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ptr == text.data() + text.size() ? number : 0;
}

// Slurm lists the cores of one that has only some, but not always (22.05): they are counted.
bool is_whole(const ReservationSeen& one, const std::vector<NodeSeen>& nodes) {
  std::int64_t cores = 0;
  for (const NodeSeen& node : nodes) {
    if (!text::any_hostlist_holds({one.nodes}, node.name)) continue;
    cores += std::int64_t{node.sockets} * node.cores_per_socket;
  }
  return one.cores >= cores;
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
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ReservationSeen one;
    one.name = value_of(line, "ReservationName=");
    one.nodes = value_of(line, "Nodes=");
    one.starts_s = number_in(value_of(line, "StartTime="));
    one.ends_s = number_in(value_of(line, "EndTime="));
    one.is_active = value_of(line, "State=") == "ACTIVE";
    one.cores = number_in(value_of(line, "CoreCnt="));
    const bool has_all = !one.name.empty() && !one.nodes.empty() && one.ends_s > one.starts_s;
    if (has_all) all.push_back(std::move(one));
  }
  return all;
}

bool Reservations::is_due(const std::vector<NodeSeen>& nodes) const {
  if (!read_at_ || std::chrono::steady_clock::now() - *read_at_ >= kReadEvery) return true;
  return nodes_inside(nodes) != inside_;
}

void Reservations::keep(std::vector<ReservationSeen> all, const std::vector<NodeSeen>& nodes) {
  std::erase_if(all, [&](const ReservationSeen& one) { return !is_whole(one, nodes); });
  all_ = std::move(all);
  inside_ = nodes_inside(nodes);
  read_at_ = std::chrono::steady_clock::now();
}

void Reservations::add_to(Observed& seen) const {
  seen.reservations = all_;
  for (const ReservationSeen& one : all_) {
    if (!one.is_active) continue;
    for (NodeSeen& node : seen.nodes) {
      if (!node.is_in_reservation || !text::any_hostlist_holds({one.nodes}, node.name)) continue;
      node.reserved = fmt::format("reserved in Slurm: {} until {}", one.name,
                                  codec::rfc3339(Instant{one.ends_s * 1'000'000}));
    }
  }
}

}  // namespace dove::slurm
