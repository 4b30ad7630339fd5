#include "core/state/round_robin.h"

#include <algorithm>
#include <string_view>

namespace dove::core {
namespace {

constexpr std::string_view kRound_robin = "round_robin";  // policies/placement/round_robin.h

}  // namespace

// Names come from files and flags, where both spellings are usual.
bool is_called(std::string_view full, std::string_view name) {
  const auto same = [](char a, char b) {
    return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_'));
  };
  const std::string_view plain = full.substr(0, full.find('/'));
  return std::equal(full.begin(), full.end(), name.begin(), name.end(), same) ||
         std::equal(plain.begin(), plain.end(), name.begin(), name.end(), same);
}

bool is_round_robin(const ClusterSettings& settings) {
  const std::string_view name = settings.placement;
  return is_called(kRound_robin, name.substr(0, name.find('/')));
}

bool moves_cursor(const JobSpec& spec) {
  if (spec.exclusive || spec.groups.size() != 1 || !spec.executor.empty()) return false;
  if (!spec.features.empty() || !spec.nodes_wanted.empty() || !spec.nodes_excluded.empty()) {
    return false;
  }
  if (spec.groups.front().tasks != 1) return false;
  const TaskGroup& group = spec.groups.front();
  // Folding asks this, and logs are folded by later releases, too: what scores have learned to
  // place since (core/place/node_shape.h) moves no cursor.
  // Compared as a whole: a field of Request that is added later moves none either.
  Request plain;
  plain.cores = group.per_task.cores;
  plain.memory_bytes = group.per_task.memory_bytes;
  plain.gpus = group.per_task.gpus;
  plain.share_milli = group.per_task.share_milli;
  plain.gpu_model = group.per_task.gpu_model;
  plain.gpu_memory_bytes = group.per_task.gpu_memory_bytes;
  if (group.per_task != plain || group.per_node != Request{}) return false;
  return plain.gpus > 0 || plain.share_milli > 0;
}

}  // namespace dove::core
