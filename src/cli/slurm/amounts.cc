#include "cli/slurm/amounts.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::cli {

std::string slurm_clock(std::int64_t span_us) {
  const std::int64_t all_s = std::max<std::int64_t>(span_us, 0) / 1'000'000;
  const std::int64_t days = all_s / 86400;
  return fmt::format("{}{:02}:{:02}:{:02}", days == 0 ? "" : fmt::format("{}-", days),
                     all_s / 3600 % 24, all_s / 60 % 60, all_s % 60);
}

std::string slurm_memory(std::int64_t bytes) {
  constexpr std::int64_t kMegabyte = 1 << 20;
  std::int64_t amount = (std::max<std::int64_t>(bytes, 0) + kMegabyte - 1) / kMegabyte;
  char unit = 'M';
  for (const char larger : {'G', 'T', 'P'}) {
    if (amount == 0 || amount % 1024 != 0) break;
    amount /= 1024;
    unit = larger;
  }
  return fmt::format("{}{}", amount, unit);
}

std::string slurm_partition(const JobView& job) { return job.pool.empty() ? "default" : job.pool; }

}  // namespace dove::cli
