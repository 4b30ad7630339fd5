#include "core/state/executors/unwatched.h"

#include <algorithm>

#include "core/state/executors/foreign_use.h"
#include "core/state/holders/month_use.h"
#include "core/state/past/past_use.h"

namespace dove::core {
namespace {

ExecutorStanding* find_standing(State& state, const std::string& executor) {
  const auto found = state.standings.find(executor);
  return found == state.standings.end() ? nullptr : &found->second;
}

// The accounting says in which second a job ended. A time without watch includes the second in
// which it ended, so the next one begins after that. Otherwise a job of that second would count
// twice.
Instant whole_second(Instant at) {
  constexpr std::int64_t kSecond_us = 1'000'000;
  return Instant{(at.us + kSecond_us - 1) / kSecond_us * kSecond_us};
}

bool is_watched(const State& state, const ExecutorStanding& standing) {
  return standing.watched_until.us != 0 && standing.watched_in == state.epoch &&
         standing.contact == ExecutorContact::kAnswering;
}

// By its end, as if it had been charged in time: in steps, for what is held over long is charged
// as if it had been held in the middle.
PastUse past_of(const ForeignUse& use, Span half_life) {
  constexpr std::int64_t kHalf_lives = 62;  // of what is older nothing is left
  constexpr std::int64_t kSteps = 4;        // to a half-life
  Usage held;
  held.cores = use.cores;
  held.gpus_milli = use.gpus_milli;
  held.memory_bytes = use.memory_bytes;
  constexpr std::int64_t kStepMax_us = std::int64_t{7} * 86'400 * 1'000'000;
  const Span step{std::clamp<std::int64_t>(half_life.us / kSteps, 1'000'000, kStepMax_us)};
  PastUse past{0, std::max(use.from, Instant{use.to.us - step.us * kSteps * kHalf_lives})};
  while (past.at + step < use.to) charge(past, held, half_life, past.at + step);
  charge(past, held, half_life, use.to);
  return past;
}

// An adapter may say anything: what does not fit into the amount counts as much as does.
std::int64_t changed_by(std::int64_t amount, int sign, __int128 by) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  return static_cast<std::int64_t>(std::clamp<__int128>(amount + sign * by, 0, kMost));
}

void add_to_month(State& state, const std::string& queue, const Usage& usage, const ForeignUse& use,
                  int sign) {
  const auto declared = state.queues.find(queue);
  if (declared == state.queues.end() || !has_month(declared->second.limits)) return;
  MonthUse& month = month_from_now(state.month_by_queue, queue, state.now);
  charge_month(month, usage, state.now);
  const Instant from = std::max(use.from, month_start(month.month));
  const std::int64_t ms = std::max<std::int64_t>((use.to - from).us / 1000, 0);
  month.gpu_ms = changed_by(month.gpu_ms, sign, static_cast<__int128>(use.gpus_milli) * ms);
}

// To its queue and all above it, or off what they have been charged.
void charge_use(State& state, const std::string& executor, const ForeignUse& use, int sign) {
  static const Usage nothing;
  const std::string* queue = queue_of(state, executor, use.account);
  if (queue == nullptr || use.to <= use.from) return;
  const Span half_life = state.settings.fair_share_half_life;
  const PastUse then = past_of(use, half_life);
  for_each_queue(state, *queue, [&](const std::string& name) {
    const auto counted = state.usage_by_queue.find(name);
    const Usage& usage = counted == state.usage_by_queue.end() ? nothing : counted->second;
    PastUse& past = state.past_by_queue[name];
    charge(past, usage, half_life, state.now);
    const std::int64_t left = past_use_at(then, nothing, half_life, past.at);
    past.amount = changed_by(past.amount, sign, left);
    add_to_month(state, name, usage, use, sign);
  });
  state.changes.note_declared();  // the order of queues depends on it
}

void settle(State& state, const std::string& executor, Unwatched& gap, const ForeignUse& use) {
  const Instant end = std::clamp(use.to, gap.from, gap.to);
  const auto known = gap.ended.find(use.id);
  if (known == gap.ended.end()) {
    // Nobody knew of it while it ran. What it had before the gap was seen, and charged then.
    ForeignUse missed = use;
    missed.from = std::max(use.from, gap.from);
    missed.to = end;
    return charge_use(state, executor, missed, +1);
  }
  if (known->second.to > gap.to) return;  // its end was heard of, and all was charged
  // It was charged until its end was heard of, which is later than it ended.
  ForeignUse beyond = known->second;
  beyond.from = end;
  // Once: a job of the same id that ran again was not known.
  gap.ended.erase(known);
  charge_use(state, executor, beyond, -1);
}

}  // namespace

void fold(State& state, const ForeignWatchResumed& event) {
  ExecutorStanding* standing = find_standing(state, event.executor);
  // Both of two records of one time name its beginning, and the first has moved that.
  if (standing == nullptr || event.from != standing->watched_until) return;
  standing->watched_until = whole_second(state.now);
  standing->watched_in = state.epoch;
  if (event.from.us == 0 || event.from >= state.now) return;
  auto& all = standing->unwatched;
  if (all.size() == kUnwatchedMax) all.erase(all.begin());
  all.push_back({event.from, state.now, event.from});
}

void fold(State& state, const ForeignUseFound& event) {
  ExecutorStanding* standing = find_standing(state, event.executor);
  if (standing == nullptr) return;
  auto& all = standing->unwatched;
  const auto gap = std::find_if(all.begin(), all.end(),
                                [&](const Unwatched& each) { return each.to == event.gap; });
  if (gap == all.end() || gap->counted != event.from || event.until <= event.from) return;
  for (const ForeignUse& use : event.uses) settle(state, event.executor, *gap, use);
  gap->counted = event.until;
  if (gap->counted >= gap->to) all.erase(gap);
}

void note_watched(State& state, const std::string& executor) {
  ExecutorStanding* standing = find_standing(state, executor);
  if (standing == nullptr || !is_watched(state, *standing)) return;
  standing->watched_until = std::max(standing->watched_until, state.now);
}

void note_contact(const State& state, ExecutorStanding& standing, ExecutorContact next) {
  if (next == ExecutorContact::kAnswering || !is_watched(state, standing)) return;
  // It may have heard nothing for as long as it takes to note an absence. What is looked for twice
  // counts once; what is not looked for is missed.
  standing.watched_until =
      std::max(standing.watched_until, Instant{state.now.us - kAbsenceNoted.us});
}

void charge_start(State& state, const std::string& executor, const ForeignAllocation& allocation) {
  const ExecutorStanding* standing = find_standing(state, executor);
  if (standing == nullptr || standing->unwatched.empty()) return;
  const Unwatched& last = standing->unwatched.back();
  if (last.to != state.now || allocation.started_at.us == 0) return;
  charge_use(state, executor,
             {allocation.id, allocation.account, std::max(allocation.started_at, last.from),
              last.to, static_cast<std::int64_t>(allocation.cores.size()),
              static_cast<std::int64_t>(allocation.devices.size()) * kWholeDevice_milli,
              allocation.memory_bytes},
             +1);
}

void note_end(State& state, const std::string& executor, const ForeignAllocation& allocation) {
  ExecutorStanding* standing = find_standing(state, executor);
  if (standing == nullptr) return;
  note_watched(state, executor);
  if (queue_of(state, executor, allocation.account) == nullptr) return;  // nobody was charged
  for (Unwatched& gap : standing->unwatched) {
    if (state.now - gap.to > kEndsHeard) continue;
    const auto [at, is_new] = gap.ended.try_emplace(allocation.id);
    ForeignUse& held = at->second;
    // On several nodes it ends at once; later another one may have its id.
    if (!is_new && held.to != state.now) continue;
    held.id = allocation.id;
    held.account = allocation.account;
    held.to = state.now;
    held.cores += static_cast<std::int64_t>(allocation.cores.size());
    held.gpus_milli += static_cast<std::int64_t>(allocation.devices.size()) * kWholeDevice_milli;
    held.memory_bytes += allocation.memory_bytes;
  }
}

}  // namespace dove::core
