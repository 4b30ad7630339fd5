#include "core/place/node_windows.h"

#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "text/hostlist.h"

namespace dove::core {
namespace {

// The names in a reservation's lists; none when they cannot all be written out.
std::optional<std::vector<std::string>> names_in(const std::vector<std::string>& lists) {
  std::vector<std::string> all;
  for (const std::string& list : lists) {
    const auto words = text::split_hostlist(list);
    if (!words) return std::nullopt;
    for (const std::string_view word : *words) {
      auto names = text::expand_host(word, text::kHostlistNamesMax);
      if (!names || word == "*") return std::nullopt;
      std::move(names->begin(), names->end(), std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace

ById<NodeId, std::vector<Window>> windows_by_node(const State& state) {
  std::map<std::string, std::vector<const Reservation*>> by_name;
  std::vector<const Reservation*> by_list;
  for (const auto& [key, reservation] : state.reservations) {
    if (reservation.ends_at <= state.now) continue;
    const auto names = names_in(reservation.nodes);
    if (!names) {
      by_list.push_back(&reservation);
      continue;
    }
    for (const std::string& name : *names) {
      std::vector<const Reservation*>& named = by_name[name];
      if (named.empty() || named.back() != &reservation) named.push_back(&reservation);
    }
  }
  ById<NodeId, std::vector<Window>> all;
  if (by_name.empty() && by_list.empty()) return all;
  for (const Node& node : state.nodes) {
    std::vector<Window>& windows = all.emplace_back();
    const auto add = [&](const Reservation* one) {
      windows.push_back({one->starts_at, one->ends_at, one});
    };
    if (const auto named = by_name.find(node.name); named != by_name.end()) {
      for (const Reservation* one : named->second) add(one);
    }
    for (const Reservation* one : by_list) {
      if (text::any_hostlist_holds(one->nodes, node.name)) add(one);
    }
  }
  return all;
}

}  // namespace dove::core
