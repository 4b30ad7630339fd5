#include "agent/tasks/output_path.h"

#include <fmt/format.h>

#include <cctype>

namespace dove::agent {
namespace {

// "" for an unknown letter. File-name parts never bring in a slash.
std::string fill(char letter, const LaunchOrder& order, const std::string& node, Rank rank,
                 std::int32_t step) {
  const std::string job = std::to_string(order.key.job.value);
  const auto safe = [](std::string text) {
    for (char& c : text) {
      if (c == '/') c = '_';
    }
    return text;
  };
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
      return safe(order.user);
    case 'x':
      return safe(order.job_name);
    case '%':
      return "%";
    default:
      return "";
  }
}

}  // namespace

std::string output_path(const std::string& pattern, const LaunchOrder& order,
                        const std::string& node, const std::string& workdir, Rank rank,
                        std::int32_t step) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::size_t end = i + 1;
    std::size_t width = 0;
    while (end < pattern.size() && std::isdigit(static_cast<unsigned char>(pattern[end])) != 0) {
      width = std::min<std::size_t>(width * 10 + static_cast<std::size_t>(pattern[end] - '0'), 10);
      ++end;
    }
    const std::string text =
        end < pattern.size() ? fill(pattern[end], order, node, rank, step) : "";
    if (text.empty()) {
      out += '%';
      continue;
    }
    if (text.size() < width) out.append(width - text.size(), '0');
    out += text;
    i = end;
  }
  if (out.empty() || out.front() == '/') return out;
  return workdir + "/" + out;
}

}  // namespace dove::agent
