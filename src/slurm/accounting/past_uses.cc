#include "slurm/accounting/past_uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "codec/quantity.h"
#include "slurm/fences/standing_fences.h"
#include "slurm/plan.h"
#include "telemetry/log.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kTextMax = 4 << 20;
// A question that gets no answer holds the adapter up.
constexpr std::int64_t kAgain_s = 30;
constexpr std::int64_t kAgainMost_s = 600;
constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kWindowMin_s = 60;
constexpr std::int64_t kSecond_us = 1'000'000;
constexpr const char kTooMany[] = "too_many";

void warn(const std::string& why) {
  telemetry::log(telemetry::Level::kWarning, "past_use", {{"why", why}});
}

}  // namespace

PastUses::PastUses(std::string cluster, RunCommand run)
    : cluster_(std::move(cluster)), run_(std::move(run)), window_s_(kDay_s) {
  if (!run_) run_ = run_command;
}

Result<SyncAnswer> PastUses::sync(const SyncRequest& request, const Sync& sync,
                                  std::int64_t now_s) {
  std::optional<SyncRequest> with_past;
  if (part_) {
    with_past = request;
    with_past->past = part_;
  }
  Result<SyncAnswer> answer = sync(with_past ? *with_past : request);
  if (answer.ok() && request.complete) look(*answer, now_s);
  if (!answer.ok() && answer.error().field.starts_with("past")) refused(answer.error());
  return answer;
}

// Without this part the report is taken: what runs now must not go unheard for what has ended.
void PastUses::refused(const Error& error) {
  if (!part_) return;
  warn(fmt::format("the controller refuses what ended from {} on, which is not counted: {}",
                   codec::rfc3339(part_->of.from), error.message));
  if (part_->uses.empty()) return part_.reset();
  part_->uses.clear();
}

void PastUses::look(const SyncAnswer& answer, std::int64_t now_s) {
  const std::optional<Unwatched>& wanted = answer.unwatched;
  if (part_ && (!wanted || part_->of != *wanted)) part_.reset();
  if (part_ || !wanted || now_s < again_s_ || wanted->until <= wanted->from) return;
  if (now_s < wanted->until.us / kSecond_us + kAccounted_s) return;
  ask(*wanted, answer.lent.nodes, now_s);
}

void PastUses::ask(const Unwatched& wanted, const std::vector<std::string>& nodes,
                   std::int64_t now_s) {
  const Instant first{(now_s - kPastMax_s) * kSecond_us};
  // Once cut, it has a day to be asked: else what is asked next is too long ago again, for ever.
  if (wanted.from.us < first.us - kDay_s * kSecond_us) {
    warn(fmt::format("what ended more than {} days ago, and nobody heard of, is not counted",
                     kPastMax_s / kDay_s));
    part_ = PastPart{wanted, std::min(first, wanted.until), {}};
    return;
  }
  // Within it parts meet at whole seconds, as the accounting has them.
  const Instant whole{(wanted.from.us / kSecond_us + window_s_) * kSecond_us};
  PastPart part{wanted, std::min(whole, wanted.until), {}};
  Result<std::vector<PastUse>> uses = ended_in(wanted.from, part.until, nodes);
  if (!uses.ok()) return fail(uses.error(), std::move(part), now_s);
  part.uses = std::move(uses).value();
  part_ = std::move(part);
  trouble_.clear();
  pause_s_ = 0;
  window_s_ = std::min(2 * window_s_, kDay_s);
}

Result<std::vector<PastUse>> PastUses::ended_in(Instant from, Instant until,
                                                const std::vector<std::string>& nodes) const {
  TRY_ASSIGN(const std::string output, accounted(from, until));
  const EndedJobs ended = read_ended_jobs(output);
  if (ended.not_understood > 0) {
    warn(
        fmt::format("{} lines of sacct are not understood, and not counted", ended.not_understood));
  }
  std::vector<PastUse> uses;
  for (const EndedJob& job : ended.jobs) {
    const bool ends_here =
        job.use.ended_s >= from.us / kSecond_us && Instant{job.use.ended_s * kSecond_us} < until;
    if (!ends_here || is_ours(job.name)) continue;
    const PastUse use = use_on(job, nodes);
    if (use.cores > 0 || use.gpus_milli > 0 || use.memory_bytes > 0) uses.push_back(use);
  }
  if (uses.size() <= kPastJobsMax) return uses;
  return Error{ErrorKind::kTooLarge, kTooMany,
               fmt::format("more than {} jobs ended within {} s", kPastJobsMax,
                           (until.us - from.us) / kSecond_us),
               ""};
}

Result<std::string> PastUses::accounted(Instant from, Instant until) const {
  return ask_sacct(run_,
                   {"--allusers", "--duplicates", "--state=CD,F,CA,TO,NF,OOM,PR,BF,DL,RQ",
                    fmt::format("--starttime=uts{}", from.us / kSecond_us),
                    fmt::format("--endtime=uts{}", until.us / kSecond_us + 1), kEnded_job_format},
                   std::chrono::seconds(10), kTextMax);
}

void PastUses::fail(const Error& error, PastPart part, std::int64_t now_s) {
  const bool never = error.code == kNoAccounting;
  const bool is_much = error.kind == ErrorKind::kTooLarge;
  if (std::exchange(trouble_, error.message) != error.message) warn(error.message);
  if (never) {
    part.until = part.of.until;
    part_ = std::move(part);
    return;
  }
  if (is_much && window_s_ == kWindowMin_s) {
    warn(fmt::format("what ended within {} s from {} on is not counted: it is too much",
                     kWindowMin_s, codec::rfc3339(part.of.from)));
    part_ = std::move(part);
    return;
  }
  if (is_much || error.kind == ErrorKind::kTimeout) {
    window_s_ = std::max(window_s_ / 4, kWindowMin_s);
  }
  if (is_much) return;
  pause_s_ = std::clamp(2 * pause_s_, kAgain_s, kAgainMost_s);
  again_s_ = now_s + pause_s_;
}

bool PastUses::is_ours(const std::string& name) const {
  JobSeen job;
  job.name = name;
  job.mark = placeholder_mark(name);  // nobody else may have such a name for long
  return is_placeholder(job, cluster_) || is_fence(job, cluster_) ||
         is_standing_fence(job, cluster_);
}

}  // namespace dove::slurm
