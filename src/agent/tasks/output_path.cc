#include "agent/tasks/output_path.h"

#include <fmt/format.h>

#include "text/output_pattern.h"

namespace dove::agent {
namespace {

// "" for an unknown letter.
std::string fill(char letter, const LaunchOrder& order, const std::string& node, Rank rank,
                 std::int32_t step) {
  const std::string job = std::to_string(order.key.job.value);
  switch (letter) {
    case 'A':
      return order.array ? std::to_string(order.array.value) : job;
    case 'a':
      return order.array ? std::to_string(order.array_index) : "4294967294";
    case 'j':
      return job;
    case 'J':
      return step < 0 ? job : fmt::format("{}.{}", job, step);
    case 'N':
      return node;
    case 'n':
      return std::to_string(order.placement.node_rank);
    case 's':
      return step < 0 ? "batch" : std::to_string(step);
    case 't':
      return std::to_string(rank);
    case 'u':
      return text::as_file_name(order.user);
    case 'x':
      return text::as_file_name(order.name);
    default:
      return "";
  }
}

}  // namespace

std::string output_path(const std::string& pattern, const LaunchOrder& order,
                        const std::string& node, const std::string& workdir, Rank rank,
                        std::int32_t step) {
  const std::string out = text::fill_pattern(
      pattern, [&](char letter) { return fill(letter, order, node, rank, step); });
  if (out.empty() || out.front() == '/') return out;
  return workdir + "/" + out;
}

}  // namespace dove::agent
