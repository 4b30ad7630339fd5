#include "core/queue/total.h"

#include <algorithm>

namespace dove::core {

Total total_of(const Node& node) {
  Total total;
  for (const NumaNode& numa : node.inventory->numa) {
    total.cores += static_cast<std::int64_t>(numa.cores.size());
  }
  // Reserved cores are not there for jobs, so they are no part of what shares are shares of.
  total.cores = std::max<std::int64_t>(total.cores - node.declared.cores_reserved, 0);
  total.gpus_milli = static_cast<std::int64_t>(node.inventory->devices.size()) * kWholeDevice_milli;
  total.memory_bytes = node.inventory->memory_bytes - node.declared.memory_reserved_bytes;
  return total;
}

void exchange(Total& sum, const Total& before, const Total& now) {
  sum.cores += now.cores - before.cores;
  sum.gpus_milli += now.gpus_milli - before.gpus_milli;
  sum.memory_bytes += now.memory_bytes - before.memory_bytes;
}

}  // namespace dove::core
