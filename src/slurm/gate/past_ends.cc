#include "slurm/gate/past_ends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "telemetry/log.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kTextMax = 1 << 20;
constexpr std::size_t kJobsMax = 256;  // in one command
constexpr std::int64_t kAgain_s = 10;
// slurmctld hands its records on when slurmdbd answers.
constexpr std::int64_t kWithin_s = 60;

// "CANCELLED by 1000" begins with one of these.
constexpr std::array<std::string_view, 9> kEnds{"COMPLETED", "FAILED",        "CANCELLED",
                                                "TIMEOUT",   "NODE_FAIL",     "BOOT_FAIL",
                                                "DEADLINE",  "OUT_OF_MEMORY", "PREEMPTED"};

}  // namespace

std::map<std::int64_t, PastEnd> read_past_ends(std::string_view lines) {
  std::map<std::int64_t, PastEnd> ends;
  while (!lines.empty()) {
    std::string_view line = next_word(lines, '\n');
    const auto job = read_count(next_word(line, '|'));
    std::string_view said = next_word(line, '|');
    const std::string_view state = next_word(said, ' ');
    const auto code = read_count(next_word(line, ':'));
    const auto signal = read_count(line);
    const bool has_ended = std::find(kEnds.begin(), kEnds.end(), state) != kEnds.end();
    if (!job || !code || !signal || !has_ended) continue;
    const int status = static_cast<int>((*code & 0xff) << 8 | (*signal & 0x7f));
    ends[*job] = PastEnd{std::string(state), status};
  }
  return ends;
}

PastEnds::PastEnds(RunCommand run) : run_(std::move(run)) {
  if (!run_) run_ = run_command;
}

Result<std::map<std::int64_t, PastEnd>> PastEnds::ask(const std::set<std::int64_t>& jobs) const {
  TRY_ASSIGN(const std::string output, ask_sacct(run_,
                                                 {"--format=JobIDRaw,State,ExitCode",
                                                  fmt::format("--jobs={}", fmt::join(jobs, ","))},
                                                 std::chrono::seconds(5), kTextMax));
  return read_past_ends(output);
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
