#include "core/place/reservation.h"

#include <algorithm>

#include "core/queue/queue_order.h"
#include "core/state/books.h"
#include "core/state/running/stop_time.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

// A preemptible job is started before an outage only if it can run for at least this long.
constexpr Span kUseful_least = seconds(300);

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Instant before(Instant at, Span span) {
  // Instants end at zero: a deadline nearer to it than the span was missed anyway.
  return at == kNever ? kNever : Instant{std::max<std::int64_t>(at.us - span.us, 0)};
}

// Preparing and starting are orders: each is answered, or the attempt is stopped.
// Every effect has a deadline (design, invariant 4), which makes how long a start takes a known
// sum.
Span starting(const State& state, int orders) {
  return Span{state.settings.effect_deadline.us * orders};
}

}  // namespace

Guest guest_of(const Job& job) {
  Guest guest{*job.spec};
  if (job.attempts.empty()) return guest;
  const Attempt& last = job.attempts.back();
  // Also after a hang: the job cannot know whether a node was the cause, and should not wait behind
  // others for it.
  const bool by_node = comes_first(job) || last.stop_reason == StopReason::kHung;
  if (by_node) guest.restart_nodes = static_cast<std::int32_t>(last.placements.size());
  return guest;
}

bool admits(const Reservation& reservation, const Guest& guest) {
  // In an outage nodes are being worked on: nobody is let in, listed or not.
  if (reservation.outage) return false;
  const JobSpec& spec = guest.spec;
  const bool listed = lists(reservation.users, spec.user) ||
                      (!spec.project.empty() && lists(reservation.projects, spec.project));
  const bool lists_nobody = reservation.users.empty() && reservation.projects.empty();
  if (reservation.spares_for > 0) {
    // Spares are for gangs large enough to be worth them; a small one finds nodes elsewhere.
    return guest.restart_nodes >= reservation.spares_for && (listed || lists_nobody);
  }
  // Whoever is listed may run there without naming it: it is theirs.
  return listed || (lists_nobody && spec.reservation == reservation.name);
}

const Reservation* reservation_of(const State& state, const JobSpec& spec) {
  if (spec.reservation.empty()) return nullptr;
  const auto at = state.reservations.find(spec.reservation);
  return at == state.reservations.end() ? nullptr : &at->second;
}

std::vector<Window> windows_of(const State& state, const Node& node) {
  std::vector<Window> windows;
  for (const auto& [name, reservation] : state.reservations) {
    // One that is over keeps nobody off; it stays in the state until it is deleted.
    if (reservation.ends_at <= state.now) continue;
    if (!text::any_hostlist_holds(reservation.nodes, node.name)) continue;
    windows.push_back({reservation.starts_at, reservation.ends_at, &reservation});
  }
  return windows;
}

bool reserves(const State& state) {
  return std::any_of(state.reservations.begin(), state.reservations.end(),
                     [&](const auto& entry) { return entry.second.ends_at > state.now; });
}

Instant next_boundary(const State& state) {
  Instant next = kNever;
  for (const auto& [name, reservation] : state.reservations) {
    for (Instant at : {reservation.starts_at, reservation.ends_at}) {
      if (at > state.now) next = std::min(next, at);
    }
  }
  return next;
}

Instant Stay::end(Instant launch) const { return std::min(launch + longest, over_by); }

Stay stay_of(const State& state, const JobSpec& spec) {
  const Span stop = stop_time(spec);
  const Span limit = time_limit_of(state, spec);
  Stay stay;
  // Without a limit a job may stay for ever, and nothing is planned behind it.
  stay.longest = limit.us > 0 ? Span{starting(state, 2).us + limit.us + stop.us} : Span{kNever.us};
  // Beyond its deadline only the time to stop it: the stop is ordered at that instant.
  stay.over_by = latest_end(state, spec) + stop;
  return stay;
}

Instant places_free_at(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  const Span stop = stop_time(*job.spec);
  // Stopping already: how much of its limit was left does not matter any more.
  if (attempt.stage == Stage::kStopping) return attempt.stop_at + stop;
  const Instant by_limit = time_limit_at(state, job);
  if (attempt.started_at.us != 0) return by_limit + stop;
  // Two orders are still to be answered, prepare and start, or only the latter.
  const bool prepared = attempt.stage == Stage::kBarrier || attempt.stage == Stage::kStarting;
  const Span limit = time_limit_of(state, *job.spec);
  if (limit.us == 0) return by_limit + stop;
  const Instant started_by = attempt.stage_at + starting(state, prepared ? 1 : 2);
  // Started at the latest then, and for its whole limit. An earlier start ends earlier, so this is
  // never too early.
  return std::min(started_by + limit, by_limit) + stop;
}

Instant latest_end(const State& state, const JobSpec& spec) {
  Instant end = spec.deadline.us > 0 ? spec.deadline : kNever;
  if (const Reservation* reservation = reservation_of(state, spec)) {
    end = std::min(end, latest_stop(spec, reservation->ends_at));
  }
  return end;
}

Instant latest_start(const State& state, const JobSpec& spec) {
  if (spec.deadline.us == 0) return kNever;
  return before(spec.deadline, time_limit_of(state, spec));
}

Span limit_left(const State& state, const Job& job) {
  const Span limit = time_limit_of(state, *job.spec);
  const bool saved = job.spec->preempt == Preempt::kCheckpoint;
  return saved ? Span{std::max<std::int64_t>(limit.us - job.ran_before.us, 0)} : limit;
}

Span limit_of_attempt(const State& state, const Job& job) {
  if (time_limit_of(state, *job.spec).us == 0) return {};
  return std::max(limit_left(state, job), Span{1});
}

Instant time_limit_at(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  const Instant latest = latest_end(state, *job.spec);
  if (attempt.started_at.us == 0) return latest;
  if (time_limit_of(state, *job.spec).us == 0) return latest;
  return std::min(attempt.started_at + limit_left(state, job), latest);
}

Instant limit_stop_at(const State& state, const Job& job) {
  const bool is_foreign = !job.spec->foreign_job.empty();
  return is_foreign ? latest_end(state, *job.spec) : time_limit_at(state, job);
}

Instant missed_at(const State& state, const Job& job) {
  if (job.spec->deadline.us == 0) return kNever;
  return before(job.spec->deadline, limit_left(state, job)) + Span{1};
}

Instant outage_stop_at(const State& state, const Job& job) {
  Instant stop = kNever;
  for (const auto& [name, reservation] : state.reservations) {
    if (!reservation.outage || reservation.ends_at <= state.now) continue;
    const auto& placements = job.attempts.back().placements;
    const bool hit = std::any_of(placements.begin(), placements.end(), [&](const auto& record) {
      const Node& node = state.nodes[record.placement->node];
      return record.stage != PlacementStage::kEnded &&
             text::any_hostlist_holds(reservation.nodes, node.name);
    });
    if (hit) stop = std::min(stop, latest_stop(*job.spec, reservation.starts_at));
  }
  return stop;
}

bool must_be_gone(const State& state, const Guest& guest, const Window& window, Instant launch) {
  if (admits(*window.of, guest)) return false;
  const JobSpec& spec = guest.spec;
  // An outage may stop a preemptible job, which is then worth starting if it gets something done
  // first. All other windows keep their promise to whoever reserved.
  if (!window.of->outage || spec.preempt == Preempt::kNone) return true;
  const Instant stop = latest_stop(spec, window.from);
  return launch + starting(state, 2) + std::max(spec.slice_min, kUseful_least) > stop;
}

bool same_windows(const Guest& one, const Guest& other) {
  // Everything that admits(), must_be_gone() and stop_time() read. Planner shares bounds by this,
  // so whatever they read in future belongs here.
  const JobSpec& a = one.spec;
  const JobSpec& b = other.spec;
  return one.restart_nodes == other.restart_nodes && a.user == b.user && a.project == b.project &&
         a.reservation == b.reservation && a.preempt == b.preempt && a.slice_min == b.slice_min &&
         a.kill_grace == b.kill_grace && a.checkpoint_grace == b.checkpoint_grace;
}

bool is_open(const State& state, const Guest& guest, const std::vector<Window>& windows,
             Instant from, Instant to) {
  // A job that names a reservation has to be inside one of that name when it starts.
  bool inside = guest.spec.reservation.empty();
  for (const Window& window : windows) {
    if (window.of->name == guest.spec.reservation && window.from <= from) inside = true;
    if (window.from >= to || window.to <= from) continue;
    if (must_be_gone(state, guest, window, from)) return false;
  }
  return inside;
}

std::vector<Reason> reservation_obstacles(const State& state, const JobSpec& spec) {
  if (spec.reservation.empty()) return {};
  Reason reason;
  reason.kind = ReasonKind::kReservation;
  reason.subject = spec.reservation;
  const Reservation* reservation = reservation_of(state, spec);
  if (reservation == nullptr || !admits(*reservation, {spec})) return {reason};
  reason.until = reservation->starts_at;
  // Open to it, but not yet: the instant says when.
  if (reservation->starts_at > state.now) return {reason};
  const Span limit = time_limit_of(state, spec);
  reason.until = {};
  // What is left of it is shorter than the job's limit: no time would help.
  if (state.now + limit > latest_stop(spec, reservation->ends_at)) return {reason};
  return {};
}

}  // namespace dove::core
