#include "slurm/reservations.h"

#include <fmt/format.h>

#include <string>

#include "text/hostlist.h"

namespace dove::slurm {
namespace {

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

}  // namespace

void note_reservations(std::string_view text, std::vector<NodeSeen>& nodes) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string list(value_of(line, "Nodes="));
    // One of some cores lists them, node by node.
    const bool is_whole = line.find(" CoreIDs=") == std::string_view::npos;
    if (value_of(line, "State=") != "ACTIVE" || !is_whole || list.empty()) continue;
    for (NodeSeen& node : nodes) {
      if (!node.is_in_reservation || !text::any_hostlist_holds({list}, node.name)) continue;
      node.reserved = fmt::format("reserved in Slurm: {} until {}",
                                  value_of(line, "ReservationName="), value_of(line, "EndTime="));
    }
  }
}

}  // namespace dove::slurm
