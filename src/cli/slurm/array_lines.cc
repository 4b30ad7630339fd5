#include "cli/slurm/array_lines.h"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace dove::cli {
namespace {

// The elements of one line.
struct Line {
  std::size_t at = 0;  // in the list of lines
  std::vector<std::int64_t> indices;
};

// "0-3,7": runs of neighbours.
std::string indices_text(const std::vector<std::int64_t>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(indices[i]);
    if (last > i) text += fmt::format("-{}", indices[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::vector<JobView> with_arrays_joined(const std::vector<JobView>& jobs) {
  std::vector<JobView> lines;
  std::map<std::pair<std::string, std::string>, Line> joined;  // by array and state
  for (const JobView& job : jobs) {
    if (job.array.empty() || !job.waiting()) {
      lines.push_back(job);
      continue;
    }
    const auto [found, is_new] = joined.try_emplace({job.array, job.state});
    if (is_new) {
      found->second.at = lines.size();
      lines.push_back(job);
    }
    found->second.indices.push_back(job.array_index);
  }
  for (const auto& [array, line] : joined) {
    JobView& first = lines[line.at];
    const std::string at_once =
        first.array_running_max > 0 ? fmt::format("%{}", first.array_running_max) : "";
    first.shown_id = fmt::format("{}_[{}{}]", first.array, indices_text(line.indices), at_once);
  }
  return lines;
}

}  // namespace dove::cli
