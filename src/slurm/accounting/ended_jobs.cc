#include "slurm/accounting/ended_jobs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "slurm/accounting/sacct.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

// As the controller takes them.
constexpr std::int64_t kCountMax = 1 << 20;
constexpr double kBytesMax = 0x1p50;
constexpr std::int64_t kMilli = 1000;

// "1500M", "1.50G", "0".
std::optional<std::int64_t> bytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  int shift = 0;
  if (!unit.empty()) {
    const std::size_t at = kUnits.find(unit.front());
    if (at == std::string_view::npos || unit.size() > 1) return std::nullopt;
    shift = 10 * (static_cast<int>(at) + 1);
  }
  const double all = std::ldexp(value, shift);
  if (!(all <= kBytesMax)) return std::nullopt;
  return static_cast<std::int64_t>(all);
}

// "billing=2,cpu=2,gres/gpu=1,gres/gpu:h200_0=1,mem=200M,node=2".
bool read_tres(std::string_view list, PastUse& use) {
  std::int64_t gpus = -1;
  std::int64_t typed = 0;
  while (!list.empty()) {
    std::string_view one = next_word(list, ',');
    const std::string_view name = next_word(one, '=');
    const bool is_typed = name.starts_with("gres/gpu:");
    if (name != "cpu" && name != "mem" && name != "gres/gpu" && !is_typed) continue;
    const auto amount = name == "mem" ? bytes(one) : read_count(one);
    if (!amount || (name != "mem" && *amount > kCountMax)) return false;
    if (name == "cpu") use.cores = *amount;
    if (name == "mem") use.memory_bytes = *amount;
    if (name == "gres/gpu") gpus = *amount;
    if (is_typed) typed += *amount;
  }
  // Slurm counts those with a type in both.
  use.gpus_milli = (gpus >= 0 ? gpus : std::min(typed, kCountMax)) * kMilli;
  return true;
}

enum class Line { kJob, kNeverStarted, kOdd };

Line read_line(std::string_view line, EndedJob& job) {
  if (std::count(line.begin(), line.end(), '|') < 6) return Line::kOdd;
  const auto id = read_count(next_word(line, '|'));
  const std::string_view start = next_word(line, '|');
  const auto started = read_count(start);
  const auto ended = read_count(next_word(line, '|'));
  job.nodes = next_word(line, '|');
  job.use.account = next_word(line, '|');
  const std::string_view tres = next_word(line, '|');
  job.name = line;
  const bool never = start == "None" || start == "Unknown" || start == "0" ||
                     job.nodes == "None assigned" || job.nodes.empty();
  if (id && never) return Line::kNeverStarted;
  if (!id || !started || !ended || *ended < *started) return Line::kOdd;
  job.use.id = *id;
  job.use.started_s = *started;
  job.use.ended_s = *ended;
  return read_tres(tres, job.use) ? Line::kJob : Line::kOdd;
}

}  // namespace

EndedJobs read_ended_jobs(std::string_view lines) {
  EndedJobs read;
  while (!lines.empty()) {
    const bool is_whole = lines.find('\n') != std::string_view::npos;
    const std::string_view line = next_word(lines, '\n');
    EndedJob job;
    const Line kind = is_whole ? read_line(line, job) : Line::kOdd;
    if (kind == Line::kOdd) ++read.not_understood;
    if (kind == Line::kJob) read.jobs.push_back(std::move(job));
  }
  std::stable_sort(read.jobs.begin(), read.jobs.end(), [](const EndedJob& a, const EndedJob& b) {
    return a.use.started_s < b.use.started_s;
  });
  return read;
}

PastUse use_on(const EndedJob& job, const std::vector<std::string>& hostlists) {
  PastUse use = job.use;
  const std::vector<std::string> names = text::expand_hostlist(job.nodes);
  const auto all = static_cast<std::int64_t>(names.size());
  const auto ours = std::count_if(names.begin(), names.end(), [&](const std::string& name) {
    return text::any_hostlist_holds(hostlists, name);
  });
  if (ours == all && all > 0) return use;
  for (std::int64_t* amount : {&use.cores, &use.gpus_milli, &use.memory_bytes}) {
    *amount = all == 0 ? 0 : static_cast<std::int64_t>(static_cast<__int128>(*amount) * ours / all);
  }
  return use;
}

}  // namespace dove::slurm
