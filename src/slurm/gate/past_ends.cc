#include "slurm/gate/past_ends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "telemetry/log.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kTextMax = 1 << 20;
constexpr std::size_t kJobsMax = 256;  // in one command
constexpr std::int64_t kAgain_s = 10;
// slurmctld hands its records on when slurmdbd answers.
constexpr std::int64_t kWithin_s = 60;
constexpr const char kNoAccounting[] = "no_accounting";

// "CANCELLED by 1000" begins with one of these.
constexpr std::array<std::string_view, 9> kEnds{"COMPLETED", "FAILED",        "CANCELLED",
                                                "TIMEOUT",   "NODE_FAIL",     "BOOT_FAIL",
                                                "DEADLINE",  "OUT_OF_MEMORY", "PREEMPTED"};

// Cuts off what is before the separator.
std::string_view next(std::string_view& rest, char separator) {
  const std::string_view word = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return word;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::map<std::int64_t, PastEnd> read_past_ends(std::string_view lines) {
  std::map<std::int64_t, PastEnd> ends;
  while (!lines.empty()) {
    std::string_view line = next(lines, '\n');
    const auto job = number(next(line, '|'));
    std::string_view said = next(line, '|');
    const std::string_view state = next(said, ' ');
    const auto code = number(next(line, ':'));
    const auto signal = number(line);
    const bool has_ended = std::find(kEnds.begin(), kEnds.end(), state) != kEnds.end();
    if (!job || !code || !signal || !has_ended) continue;
    const int status = static_cast<int>((*code & 0xff) << 8 | (*signal & 0x7f));
    ends[*job] = PastEnd{std::string(state), status};
  }
  return ends;
}

PastEnds::PastEnds(Run run) : run_(std::move(run)) {
  if (!run_) run_ = run_command;
}

Result<std::map<std::int64_t, PastEnd>> PastEnds::ask(const std::set<std::int64_t>& jobs) const {
  Result<CommandEnd> end = run_({.words = {"sacct", "--allocations", "--noheader", "--parsable2",
                                           "--format=JobIDRaw,State,ExitCode",
                                           fmt::format("--jobs={}", fmt::join(jobs, ","))},
                                 .limit = std::chrono::seconds(5),
                                 .output_max = kTextMax});
  const bool is_missing = !end.ok() && end.error().code == "cannot_start";
  const bool is_off = end.ok() && end->code != 0 &&
                      end->said.find("accounting storage is disabled") != std::string::npos;
  if (is_missing || is_off) {
    return Error{ErrorKind::kNotFound, kNoAccounting,
                 is_off ? std::string("Slurm has no accounting") : end.error().message, ""};
  }
  if (!end.ok()) return end.error();
  if (end->code != 0) {
    return Error{ErrorKind::kUnavailable, "slurm_command",
                 fmt::format("sacct exits with {}: {}", end->code, end->said), ""};
  }
  return read_past_ends(end->output);
}

void PastEnds::look(const std::set<std::int64_t>& gone, std::int64_t now_s) {
  const auto is_over = [&](const auto& entry) { return !gone.contains(entry.first); };
  std::erase_if(known_, is_over);
  std::erase_if(since_s_, is_over);
  std::set<std::int64_t> asked;
  bool is_new = false;
  for (const std::int64_t job : gone) {
    if (known_.contains(job) || asked.size() == kJobsMax) continue;
    asked.insert(job);
    is_new = since_s_.try_emplace(job, now_s).second || is_new;
  }
  // While it gives no answer each question may take seconds.
  const bool at_once = is_new && trouble_.empty();
  if (asked.empty() || (!at_once && now_s < again_s_)) return;
  again_s_ = now_s + kAgain_s;
  const Result<std::map<std::int64_t, PastEnd>> ends = ask(asked);
  const std::string trouble = ends.ok() ? "" : ends.error().message;
  if (std::exchange(trouble_, trouble) != trouble && !trouble.empty()) {
    telemetry::log(telemetry::Level::kWarning, "accounting", {{"why", trouble}});
  }
  const bool never = !ends.ok() && ends.error().code == kNoAccounting;
  for (const std::int64_t job : asked) {
    if (ends.ok() && ends->contains(job)) {
      known_[job] = ends->at(job);
    } else if (never || now_s - since_s_.at(job) >= kWithin_s) {
      known_[job] = PastEnd{};
    }
  }
}

}  // namespace dove::slurm
