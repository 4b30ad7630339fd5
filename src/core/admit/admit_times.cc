#include "core/admit/admit_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/place/reservation.h"
#include "core/state/books.h"
#include "core/state/executors/kept_reservations.h"

namespace dove::core {
namespace {

Error wrong(ErrorKind kind, const char* code, std::string message, const char* field) {
  return Error{kind, code, std::move(message), field};
}

std::string known_reservations(const State& state) {
  std::string known;
  for (const auto& [name, reservation] : state.reservations) {
    // No job can name these.
    if (reservation.outage || reservation.spares_for > 0 || keeper_of(state, name)) continue;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return known.empty() ? "there are none" : "known are " + known;
}

std::int64_t in_seconds(Span span) { return span.us / 1'000'000; }

Result<void> admit_reservation(const State& state, const JobSpec& spec) {
  // From what is wrong with the name to what is wrong with the time: a reservation that does not
  // exist has no times to compare.
  if (spec.reservation.empty()) return {};
  const Reservation* reservation = reservation_of(state, spec);
  if (reservation == nullptr) {
    return wrong(ErrorKind::kInvalid, "reservation_unknown",
                 fmt::format("there is no reservation \"{}\": {}", spec.reservation,
                             known_reservations(state)),
                 "reservation");
  }
  if (reservation->spares_for > 0) {
    return wrong(ErrorKind::kDenied, "reservation_denied",
                 fmt::format("\"{}\" are spare nodes, which gangs get by themselves when a node "
                             "has failed them: leave it out",
                             spec.reservation),
                 "reservation");
  }
  if (!admits(*reservation, {spec})) {
    return wrong(ErrorKind::kDenied, "reservation_denied",
                 fmt::format("reservation \"{}\" lets in neither user {} nor project \"{}\": "
                             "leave it out, or ask an administrator to add you",
                             spec.reservation, spec.user, spec.project),
                 "reservation");
  }
  // With the pool's time limit where the job has none: it is what the job will be stopped by. A job
  // without any limit (0) only has to begin inside.
  const Span limit = time_limit_of(state, spec);
  // The earliest start that is possible at all. How long it has to wait there is not known, so what
  // passes here may still turn out too long.
  const Instant begin = std::max({reservation->starts_at, state.now, spec.begin_at});
  const Instant end = latest_end(state, spec);
  if (begin + limit > end || begin >= end) {
    return wrong(
        ErrorKind::kInvalid, "reservation_too_short",
        fmt::format("the job may run for {} s, and {} s are left of reservation \"{}\": "
                    "give it a shorter time_limit",
                    in_seconds(limit), end > begin ? in_seconds(end - begin) : 0, spec.reservation),
        "time_limit");
  }
  return {};
}

}  // namespace

Result<void> admit_times(const State& state, const JobSpec& spec) {
  TRY(admit_reservation(state, spec));
  // After the reservation, whose end counts as a deadline and gives the better message.
  if (spec.deadline.us == 0) return {};
  const Instant begin = std::max(state.now, spec.begin_at);
  // Otherwise it would be accepted, wait, and end as `deadline_missed` without having run.
  if (begin > latest_start(state, spec) || spec.deadline <= begin) {
    const std::int64_t left = spec.deadline > begin ? in_seconds(spec.deadline - begin) : 0;
    return wrong(ErrorKind::kInvalid, "deadline_too_near",
                 fmt::format("the deadline leaves {} s, and the job may run for {} s: give it a "
                             "later deadline or a shorter time_limit",
                             left, in_seconds(time_limit_of(state, spec))),
                 "deadline");
  }
  return {};
}

}  // namespace dove::core
