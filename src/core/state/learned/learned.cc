#include "core/state/learned/learned.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "core/state/amount.h"
#include "core/state/state.h"

namespace dove::core {
namespace {

// A job that is likely to take kDoublings_milli doublings of a GPU-second is passed by what comes
// within kMeanRuns mean runs and the time that all that waits is likely to take; others in
// proportion to their doublings.
constexpr std::int64_t kMeanRuns = 384;
constexpr std::int64_t kDoublings_milli = 24'000;
constexpr std::int64_t kHalfAgain_milli = 585;   // log2(1.5)
constexpr std::int64_t kGpuSecond_milli = 9966;  // log2 of its milliseconds
constexpr Span kRun_max = seconds(30 * 24 * 3600);
constexpr Span kPassed_max = seconds(std::int64_t{10} * 365 * 24 * 3600);
// A job that may not be stopped says little about itself but whose it is, and once it runs nobody
// can mend a wrong guess: it is passed by what comes within two days at most.
constexpr Span kPassed_unstopped_max = seconds(2 * 24 * 3600);
// For one job: sums of millions stay far from their ends.
constexpr std::int64_t kLikely_max_ms = std::int64_t{1} << 40;

// log2 in thousandths, within one. REQUIRES: value > 0.
std::int64_t log2_milli(std::int64_t value) {
  const int whole = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
  // The fraction, in 2^-30, is squared again and again: each overflow is a binary digit.
  std::uint64_t rest = whole > 30 ? static_cast<std::uint64_t>(value) >> (whole - 30)
                                  : static_cast<std::uint64_t>(value) << (30 - whole);
  std::int64_t digits = 0;
  for (int i = 0; i < 12; ++i) {
    rest = rest * rest >> 30;
    digits <<= 1;
    if (rest >> 31 != 0) {
      digits |= 1;
      rest >>= 1;
    }
  }
  return std::int64_t{whole} * 1000 + digits * 1000 / 4096;
}

bool names_learned(const std::string& order) {
  return std::string_view(order).substr(0, order.find('/')) == "learned";
}

// What it ran, up to now.
Span ran_of(const State& state, const Job& job) {
  Span ran = job.ran_before;
  if (job.phase != JobPhase::kActive || job.attempts.empty()) return ran;
  const Attempt& attempt = job.attempts.back();
  if (attempt.started_at.us != 0 && attempt.ended_at.us == 0) {
    ran = ran + (state.now - attempt.started_at);
  }
  return ran;
}

// That the job is likely still to take: by the service that it had where it may be stopped, so that
// its rest may wait, else by how long its user's jobs of this width ran.
std::int64_t likely_ms(const State& state, const Job& job, std::int64_t width) {
  const Learned& learned = state.learned;
  if (job.spec->preempt != Preempt::kNone) {
    const std::int32_t level = service_level(service_ms(ran_of(state, job), width));
    return std::min(learned.outlook.left_ms[static_cast<std::size_t>(level)], kLikely_max_ms);
  }
  Span likely = learned.runs.likely(job.spec->user, width);
  if (job.spec->time_limit.us > 0) likely = std::min(likely, job.spec->time_limit);
  return std::min(service_ms(likely, width), kLikely_max_ms);
}

// By what comes up to so long after it a job of kDoublings_milli is passed.
Span passed_for(const State& state) {
  const Learned& learned = state.learned;
  // While jobs wait, nearly all is in use.
  const std::int64_t used_milli =
      std::max({std::int64_t{state.usage.gpus_milli}, state.usage.cores * std::int64_t{100},
                std::int64_t{1000}});
  const __int128 backlog_us = static_cast<__int128>(learned.waiting_ms) * 1'000'000 / used_milli;
  const std::int64_t mean_us = std::min(learned.outlook.mean_run.us, kRun_max.us);
  return Span{static_cast<std::int64_t>(
      std::min<__int128>(kMeanRuns * mean_us + backlog_us, kPassed_max.us))};
}

std::int64_t key_of(const State& state, const Job& job, std::int64_t width, std::int64_t likely) {
  // Wide gangs count more, by the root of their width: they keep more others waiting.
  const std::int64_t doublings = log2_milli(std::max<std::int64_t>(likely, 1)) - kGpuSecond_milli +
                                 (log2_milli(width) - log2_milli(1000)) / 2;
  // By doublings and not by time: a job of a day is not passed a thousand times as long as one of a
  // minute, only by about ten doublings longer.
  const std::int64_t part = std::clamp<std::int64_t>(doublings, 0, kDoublings_milli);
  Span passed = passed_for(state);
  if (job.spec->preempt == Preempt::kNone) passed = std::min(passed, kPassed_unstopped_max);
  return job.submitted_at.us + passed.us / kDoublings_milli * part;
}

void look(State& state) {
  Learned& learned = state.learned;
  ServiceHistory all = learned.service;
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kActive) continue;
    const std::int64_t width = width_milli(job);
    all.spent(service_ms(job.ran_before, width), service_ms(ran_of(state, job), width));
  }
  learned.outlook = outlook(all);
  learned.next_look =
      learned.service.jobs_ended + std::max<std::int64_t>(learned.service.jobs_ended / 4, 1);
}

}  // namespace

void keep_learned(State& state) {
  bool kept = names_learned(state.settings.order);
  for (const auto& [name, queue] : state.queues) kept = kept || names_learned(queue.order);
  if (kept == state.learned.kept) return;
  state.learned = Learned();
  state.learned.kept = kept;
  // Whoever waits already comes first, in order of submission.
  for (auto& [id, job] : state.jobs) job.learned_key = job.likely_ms = 0;
}

void learn_waits(State& state, Job& job) {
  if (!state.learned.kept) return;
  const std::int64_t width = width_milli(job);
  job.likely_ms = likely_ms(state, job, width);
  job.learned_key = key_of(state, job, width, job.likely_ms);
  state.learned.waiting_ms += job.likely_ms;
}

void learn_leaves(State& state, Job& job) {
  state.learned.waiting_ms -= job.likely_ms;
  job.likely_ms = 0;
}

std::int64_t width_milli(const Job& job) {
  const Amount least = least_amount(*job.spec);
  return std::max<std::int64_t>(
      {least.gpus_milli, least.gpus_milli == 0 ? least.cores * 100 : 0, 1});
}

void learn_attempt(State& state, const Job& job, Span before) {
  if (!state.learned.kept) return;
  const std::int64_t width = width_milli(job);
  state.learned.service.spent(service_ms(before, width), service_ms(job.ran_before, width));
}

void learn_end(State& state, const Job& job) {
  if (!state.learned.kept || job.ran_before.us <= 0) return;
  const std::int64_t width = width_milli(job);
  state.learned.service.finished(service_ms(job.ran_before, width), job.ran_before);
  state.learned.runs.ended(job.spec->user, width, job.ran_before);
  if (state.learned.service.jobs_ended >= state.learned.next_look) look(state);
}

std::int64_t learned_key(const State& state, const Job& job) {
  const std::int64_t width = width_milli(job);
  return key_of(state, job, width, likely_ms(state, job, width));
}

Span half_as_much_again(const State& state) {
  return Span{passed_for(state).us / kDoublings_milli * kHalfAgain_milli};
}

Instant learned_change(const State& state, const Job& job) {
  if (!state.learned.kept || job.phase != JobPhase::kActive) return kNever;
  const Attempt& attempt = job.attempts.back();
  if (attempt.started_at.us == 0) return kNever;
  const std::int64_t width = width_milli(job);
  const std::int32_t level = service_level(service_ms(ran_of(state, job), width));
  const Span end = service_level_end(level, width);
  if (end.us == kNever.us) return kNever;
  return attempt.started_at + Span{end.us - job.ran_before.us};
}

}  // namespace dove::core
