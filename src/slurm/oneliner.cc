#include "slurm/oneliner.h"

namespace dove::slurm {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

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

}  // namespace dove::slurm
