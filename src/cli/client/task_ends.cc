#include "cli/client/task_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace dove::cli {

std::string ended_text(std::int64_t exit_code, std::int64_t signal, const std::string& cause) {
  std::string text = signal > 0 ? ::strsignal(static_cast<int>(signal))
                                : fmt::format("Exited with exit code {}", exit_code);
  return cause.empty() ? text : fmt::format("{} ({})", text, cause);
}

std::string failure_text(const std::string& node, const std::vector<std::int64_t>& ranks,
                         const std::string& how) {
  std::vector<std::int64_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  std::string list;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    list += list.empty() ? "" : ",";
    list +=
        end - i > 1 ? fmt::format("{}-{}", sorted[i], sorted[end - 1]) : std::to_string(sorted[i]);
    i = end;
  }
  return fmt::format("{}: task{} {}: {}", node, sorted.size() == 1 ? "" : "s", list, how);
}

}  // namespace dove::cli
