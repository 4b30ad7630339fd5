#include "slurm/gate/array_tasks.h"

#include <charconv>
#include <cstdint>

#include "slurm/gres.h"

namespace dove::slurm {

std::vector<int> first_tasks(std::string_view tasks, std::size_t most) {
  tasks = tasks.substr(0, tasks.find_first_of(",%"));
  const char* at = tasks.data();
  const char* const end = at + tasks.size();
  const auto read = [&at, end](int& number) {
    const auto [after, error] = std::from_chars(at, end, number);
    at = after;
    return error == std::errc();
  };
  const auto follows = [&at, end](char c) { return at != end && *at == c && ++at != end; };
  int first = 0;
  if (!read(first) || first < 0) return {};
  int last = first;
  int step = 1;
  if (follows('-') && !read(last)) return {};
  if (follows(':') && (!read(step) || step < 1)) return {};
  std::vector<int> found;
  for (std::int64_t task = first; task <= last && found.size() < most; task += step) {
    found.push_back(static_cast<int>(task));
  }
  return found;
}

int tasks_at_once(const std::string& tasks) {
  const std::size_t at = tasks.find('%');
  if (at == std::string::npos) return 0;
  const auto list = read_index_list(tasks.substr(at + 1));
  return list && !list->empty() ? list->front() : 1;
}

}  // namespace dove::slurm
