#include "agent/session/lease_keeper.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::int64_t kBeatsUnderWay = 4;
// Two clocks may differ by that part of a fence from one look to the next: it is no leap.
constexpr std::int64_t kNoLeap = 50;

}  // namespace

LeaseKeeper::LeaseKeeper(wire::Loop& loop, Contact& contact, Host host)
    : loop_(loop), contact_(contact), host_(std::move(host)), ahead_us_(wall_ahead_us()) {
  if (const auto& kept = contact_.clocks()) {
    ahead_us_ = kept->ahead_us;
    missed_us_ = kept->missed_us;
    missed_at_us_ = kept->missed_at_us;
  }
  if (contact_.fence_us() <= 0) return;
  terms_.fence_us = contact_.fence_us();
  terms_.disconnect_grace_us = contact_.disconnect_grace_us();
}

void LeaseKeeper::session_began(const Terms& terms, std::int64_t sent_us) {
  terms_ = terms;
  contact_.agreed(terms.fence_us, terms.disconnect_grace_us, terms.outage_grace_us);
  // The answer proves that the controller had the message, so it counts from its sending at the
  // earliest; from the answer's coming we would count later than it does.
  contact_.heard(sent_us);
  in_session_ = true;
  broken_ = false;
  counted_on_ = true;
  renew();
}

// Unless it was mere silence, the controller may count on the fence from now on: the lease is not
// renewed until we know better.
void LeaseKeeper::session_lost(bool in_silence) {
  in_session_ = false;
  broken_ = !in_silence;
  if (broken_) counted_on_ = contact_.knows_outage();
}

void LeaseKeeper::silence_broken() {
  broken_ = true;
  counted_on_ = contact_.knows_outage();
}

void LeaseKeeper::refused() { counted_on_ = false; }

// A refused connection means that the controller's process is down: its successor gives nodes that
// it has not heard of the grace of an outage.
void LeaseKeeper::controller_down(std::int64_t at_us) {
  if (may_be_given_up()) return refused();
  wait_out(at_us);
}

void LeaseKeeper::wait_out(std::int64_t outage_at_us) {
  broken_ = false;
  counted_on_ = true;
  contact_.outage(outage_at_us);
  renew();
}

// While this machine was away without its clocks, a controller may have counted on the fence and
// started the tasks elsewhere before it went down. Without a leap the lease would be over then.
bool LeaseKeeper::may_be_given_up() {
  look_for_leap();
  if (missed_us_ == 0 || contact_.knows_outage()) return false;
  const std::int64_t quiet_us = loop_.monotonic_us() + missed_us_ - contact_.heard_at_us();
  const std::int64_t waits_us = terms_.disconnect_grace_us + terms_.fence_us;
  return (broken_ && asks_first()) || quiet_us >= waits_us;
}

// As if the outage had begun so long before the end of that wait that its grace ends with it. A
// leap that came after the question has used up some of the wait.
void LeaseKeeper::awaited(std::int64_t sent_us, std::int64_t waits_us) {
  look_for_leap();
  if (sent_us > missed_at_us_) missed_us_ = 0;
  note_clocks();
  wait_out(std::min(sent_us + waits_us - contact_.outage_grace_us(), loop_.monotonic_us()));
}

// From here on the grace counts from the question, with the leaps that came after it.
void LeaseKeeper::may_be_heard(std::int64_t asked_us) {
  look_for_leap();
  if (!contact_.knows_outage()) return;
  const std::int64_t since_us = asked_us > missed_at_us_ ? 0 : missed_us_;
  contact_.may_be_heard(asked_us - since_us, std::exchange(missed_us_, 0));
  note_clocks();
}

// One that cannot be reached after the connection was closed from outside may count on the fence;
// one that merely fell silent may still wait for us.
void LeaseKeeper::unreachable() {
  if (broken_) counted_on_ = contact_.knows_outage();
}

// It decides nothing while it cannot write, and gives this node a grace anew before it does again.
void LeaseKeeper::controller_full(std::int64_t sent_us) {
  if (may_be_given_up()) return refused();
  broken_ = false;
  counted_on_ = true;
  contact_.heard(sent_us);
  renew();
}

// Tasks live on as long as the controller can count on them (invariant 5). It counts from the last
// message that it answered, which it had after we sent it; in a session some may be on their way.
// While its process is down nobody decides, and the next one waits for the grace of an outage.
void LeaseKeeper::renew() {
  // Four times in a fence: three renewals may come late before a healthy node's tasks are ended.
  timer_ = loop_.after(std::chrono::microseconds(terms_.fence_us / 4), [this] { renew(); });
  look_for_leap();
  if (!host_.renew || !counted_on_ || contact_.heard_at_us() == 0) return;
  if (in_session_ && asks_first()) {
    if (host_.ask) host_.ask();
    return;
  }
  const std::int64_t now_us = loop_.monotonic_us() + missed_us_;
  const std::int64_t quiet_us = now_us - contact_.heard_at_us();
  const std::int64_t most_us =
      terms_.disconnect_grace_us + (in_session_ ? kBeatsUnderWay * terms_.heartbeat_us : 0);
  const bool in_grace = quiet_us >= 0 && quiet_us < most_us;
  // The deadline is a fence from now, however little of the grace is left: when the controller
  // begins to count on the fence, it waits for a whole one.
  if (!in_grace && !contact_.in_outage_grace(now_us)) return;
  host_.renew(loop_.monotonic_us() + terms_.fence_us);
}

std::int64_t LeaseKeeper::wall_ahead_us() const {
  return (host_.wall_us ? host_.wall_us() : loop_.wall_us()) - loop_.monotonic_us();
}

void LeaseKeeper::look_for_leap() {
  if (contact_.heard_at_us() > missed_at_us_) missed_us_ = 0;
  const std::int64_t now_ahead_us = wall_ahead_us();
  const std::int64_t leap_us = now_ahead_us - std::exchange(ahead_us_, now_ahead_us);
  const bool asked_first = asks_first();
  const bool leapt = leap_us > terms_.fence_us / kNoLeap;
  if (leapt) {
    missed_us_ += leap_us;
    missed_at_us_ = loop_.monotonic_us();
  }
  note_clocks();
  if (!leapt) return;
  if (leap_us <= terms_.fence_us && asks_first() == asked_first) return;
  telemetry::log(telemetry::Level::kWarning, "clock_leapt",
                 {{"seconds", std::to_string(missed_us_ / 1'000'000)},
                  {"why", "this machine was paused, or its clock was set"},
                  {"effect", "tasks run on once the controller has answered"}});
}

// A clock that is slewed changes it all the time, and is written down once in a while.
void LeaseKeeper::note_clocks() {
  const Contact::Clocks now{ahead_us_, missed_us_, missed_at_us_};
  Contact::Clocks kept = contact_.clocks().value_or(Contact::Clocks());
  const bool is_as_far = std::abs(kept.ahead_us - now.ahead_us) <= terms_.fence_us / kNoLeap / 2;
  if (is_as_far) kept.ahead_us = now.ahead_us;
  if (!contact_.clocks() || kept != now) contact_.note(now);
}

}  // namespace dove::agent
