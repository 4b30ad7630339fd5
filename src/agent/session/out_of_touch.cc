// Session's end: what it takes the loss for, and when it tries again. What that means for the lease
// is LeaseKeeper's.
#include <algorithm>

#include "agent/session/answer.h"
#include "agent/session/session.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr int kFailuresToAsk = 3;
constexpr int kSilencesToAsk = 16;
constexpr char kNoTurn[] = "handshake_timeout";

// Somebody took the connection, and has too little time for it. Where nobody did, it cost nobody
// anything.
bool is_held_up(const Error& error) {
  return error.kind == ErrorKind::kTimeout && error.code != "connect_timeout";
}

}  // namespace

// A former session's, kept open in silence: what breaks it now may be a break for the controller
// too. When the controller itself ends it, it took our silence for what it was.
void Session::orders_closed(const Error& error) {
  if (connected()) return lost(error);
  if (error.code == "stream_ended") return;
  lease_->silence_broken();
  ask_leader_again();
}

// A machine that has started again answers what is left of a session with a reset, so it also tells
// at once whether its controller runs. What was asked while it was down may hear of that long after
// the fence.
void Session::ask_leader_again() {
  if (contact_->knows_outage()) return;
  uplink_.give_up_calls();
  certificate_.give_up();
  uplink_.turn_to_leader();
  ticket_.clear();
  failures_ = 0;
  connect_later();
}

void Session::lost(const Error& error) {
  if (!connected()) return;
  telemetry::log(telemetry::Level::kWarning, "disconnected",
                 {{"node", options_.node}, {"why", error.message}});
  // In HTTP/1.1 the stream of orders has a connection of its own, which may take as long as the
  // first one.
  if (error.code == kNoTurn) uplink_.timed_out();
  id_.clear();
  ++number_;
  reports_.close();
  heartbeat_timer_.cancel();
  silence_timer_.cancel();
  host_.ended();
  // To close the stream in silence would be a break to a controller that hears of it.
  const bool in_silence = error.kind == ErrorKind::kTimeout;
  if (in_silence) {
    silent_orders_ = std::move(orders_);
    uplink_.leave_line();
  }
  orders_.reset();
  lease_->session_lost(in_silence);
  connect_later();
}

// Where agents call may have changed with the controller: those who do not get through ask again,
// with their certificate. They do so only once they have tried: when a controller comes back after
// a while, these certificates would cost it more than all else. Silence on a connection that was
// taken rather says that there is too much to do. Were it answered with such questions, there would
// be even more, for ever. Where there are several, the next one is asked, which may be about to
// lead: that another is silent, or has ended, is no reason to want certificates of it.
void Session::not_reached(const Error& error) {
  const bool is_gone = error.code == "connection_refused" && uplink_.has_several();
  const bool is_silence = error.kind == ErrorKind::kTimeout && uplink_.has_several();
  const int every = is_silence || is_held_up(error) ? kSilencesToAsk : kFailuresToAsk;
  const bool asks = uplink_.secure() && !is_gone && (failures_ + 1) % every == 0;
  connect_failed(error);
  if (!asks) return;
  reconnect_timer_.cancel();
  certify();
}

// A controller that answers but refuses counts on the fence, and so may one that cannot be reached
// after the connection was closed from outside. A refused connection means that the controller's
// process is down, as does its own farewell. Where there are several, only one of them counts: the
// last that led, as any other leader would have given a ticket before it could count on silence.
void Session::connect_failed(const Error& error) {
  ticket_.clear();
  ++failures_;
  is_held_up_ = is_held_up(error) && !uplink_.has_several();
  if (is_distrust(error) && failures_ % 64 == 1) {
    telemetry::log(telemetry::Level::kError, "controller_not_trusted",
                   {{"node", options_.node}, {"why", error.message}});
  }
  if (error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kTimeout) {
    lease_->refused();
    // An alert says less than what was heard before.
    const bool says_less = refused_.has_value() && is_cut_off(error);
    const bool is_news =
        !says_less && (!refused_.has_value() || refused_->message != error.message);
    if (!says_less) refused_ = error;
    if (is_news) {
      telemetry::log(telemetry::Level::kError, "refused_by_controller",
                     {{"node", options_.node}, {"why", error.message}});
    }
  } else if (error.code == "connection_refused" && uplink_.led_here()) {
    refused_.reset();
    lease_->controller_down(outage_from_us());
  } else {
    lease_->unreachable();
  }
  if (error.code == "connection_refused") uplink_.forget_port();
  if (error.code == kNoTurn) uplink_.timed_out();
  uplink_.turn();
  connect_later();
}

// Where there are several, another one may have begun before we learn that this one is down, or
// before its farewell comes. That one counts from its own beginning, which came after the last
// answer of the one before it, to a question for a ticket at least.
std::int64_t Session::outage_from_us() const {
  return uplink_.has_several() ? contact_->heard_at_us() : loop_.monotonic_us();
}

// It lives, so another one is not looked for.
void Session::controller_full(std::int64_t sent_us) {
  ++failures_;
  is_held_up_ = false;
  refused_.reset();
  lease_->controller_full(sent_us);
  connect_later();
}

// At once but for a jitter after a session that worked; within a second while there is nobody;
// slower where the answer will hardly change, and where the one controller that there is has too
// much to do. The jitter is never less than up to 100 ms: all nodes of a cluster lose one
// controller at the same moment.
std::int64_t Session::backoff_us() {
  const bool is_slow = refused_.has_value() || is_held_up_;
  const std::int64_t most_us = is_slow ? 5'000'000 : (uplink_.has_several() ? 250'000 : 700'000);
  const std::int64_t wait_us =
      failures_ == 0 ? 0 : std::min<std::int64_t>(50'000LL << std::min(failures_, 8), most_us);
  const std::int64_t jitter_us = std::max<std::int64_t>(wait_us / 2, 100'000);
  return wait_us + static_cast<std::int64_t>(jitter_.below(static_cast<std::uint64_t>(jitter_us)));
}

}  // namespace dove::agent
