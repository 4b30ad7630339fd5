#include "slurm/partitions.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "slurm/migrate/conf_file.h"
#include "slurm/oneliner.h"

namespace dove::slurm {
namespace {

// 0: none.
bool is_at_least(std::int64_t allowed, std::int64_t wanted) {
  return allowed == 0 || (wanted != 0 && allowed >= wanted);
}

// Slurm may refuse what one of the partitions does not allow (EnforcePartLimits=ALL): those that
// allow the limit, else those that allow the most.
Ask ask_in(Ask ask, const std::vector<const PartitionSeen*>& of_a_tier) {
  std::int64_t limit = ask.limit_minutes;
  const bool any_allows = std::any_of(
      of_a_tier.begin(), of_a_tier.end(),
      [&](const PartitionSeen* one) { return is_at_least(one->limit_minutes, ask.limit_minutes); });
  if (!any_allows) {
    limit = 0;
    for (const PartitionSeen* one : of_a_tier) limit = std::max(limit, one->limit_minutes);
  }
  ask.partitions.clear();
  for (const PartitionSeen* one : of_a_tier) {
    if (is_at_least(one->limit_minutes, limit)) ask.partitions.push_back(one->name);
  }
  ask.limit_minutes = limit;
  return ask;
}

}  // namespace

std::vector<PartitionSeen> read_partition_lines(std::string_view text) {
  std::vector<PartitionSeen> all;
  for (const std::string_view line : lines_of(text)) {
    PartitionSeen one;
    one.name = value_of(line, "PartitionName=");
    if (one.name.empty()) continue;
    const std::string_view state = value_of(line, "State=");
    one.is_up = state.empty() || state == "UP";
    one.gives_whole_nodes = value_of(line, "OverSubscribe=").starts_with("EXCLUSIVE");
    one.limit_minutes = std::max<std::int64_t>(slurm_time_s(value_of(line, "MaxTime=")), 0) / 60;
    const std::string_view tier = value_of(line, "PriorityTier=");
    std::from_chars(tier.data(), tier.data() + tier.size(), one.tier);
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<Ask> ask_in_partitions(const Ask& ask, const std::vector<PartitionSeen>& known) {
  std::map<std::int64_t, std::vector<const PartitionSeen*>, std::greater<>> by_tier;
  for (const PartitionSeen& one : known) {
    const bool is_wanted =
        std::find(ask.partitions.begin(), ask.partitions.end(), one.name) != ask.partitions.end();
    if (is_wanted && one.is_up && !one.gives_whole_nodes) by_tier[one.tier].push_back(&one);
  }
  std::vector<Ask> asks;
  for (const auto& [tier, partitions] : by_tier) asks.push_back(ask_in(ask, partitions));
  if (asks.empty()) asks.push_back(ask);
  return asks;
}

}  // namespace dove::slurm
