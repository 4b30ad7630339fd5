// The agent without a session: what it takes the loss for, when it tries again, and how long it
// renews the lease of its tasks (docs/decisions/0002-fence.md).
#include <algorithm>

#include "agent/agent.h"
#include "agent/session/answer.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::int64_t kBeatsUnderWay = 4;

}  // namespace

// Of a former session, kept open in silence: what breaks it now may be a break for the controller
// too. When the controller itself ends it, it took our silence for what it was.
void Agent::orders_closed(const Error& error) {
  if (!session_.empty()) return lost_session(error);
  if (error.code == "stream_ended") return;
  broken_ = true;
  counted_on_ = false;
}

// Unless it was mere silence, the controller may count on the fence from now on: the lease is not
// renewed until we know better.
void Agent::lost_session(const Error& error) {
  if (session_.empty()) return;
  telemetry::log(telemetry::Level::kWarning, "disconnected",
                 {{"node", options_.name}, {"why", error.message}});
  session_.clear();
  ++session_number_;
  relays_->clear();
  heartbeat_timer_.cancel();
  silence_timer_.cancel();
  in_flight_ = false;
  broken_ = error.kind != ErrorKind::kTimeout;
  // To close it in silence would be a break to a controller that hears of it.
  if (!broken_) silent_orders_ = std::move(orders_);
  orders_.reset();
  if (broken_) counted_on_ = contact_->knows_outage();
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

// A controller that answers but refuses counts on the fence, and so may one that cannot be reached
// after the connection was closed from outside: then the lease is left to run out. A refused
// connection means that the controller's process is down, as does its own farewell: its successor
// gives nodes that it has not heard of the grace of an outage.
void Agent::connect_failed(const Error& error) {
  ticket_.clear();
  ++failures_;
  if (is_distrust(error) && failures_ % 64 == 1) {
    telemetry::log(telemetry::Level::kError, "controller_not_trusted",
                   {{"node", options_.name}, {"why", error.message}});
  }
  if (error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kTimeout) {
    counted_on_ = false;
    const bool is_news = !refused_.has_value() || refused_->message != error.message;
    refused_ = error;
    if (is_news) {
      telemetry::log(telemetry::Level::kError, "refused_by_controller",
                     {{"node", options_.name}, {"why", error.message}});
    }
  } else if (error.code == "connection_refused" && uplink_.led_here()) {
    refused_.reset();
    broken_ = false;
    counted_on_ = true;
    contact_->outage(outage_from_us());
    renew();
  } else if (broken_) {
    counted_on_ = contact_->knows_outage();
  }
  if (error.code == "connection_refused") uplink_.forget_port();
  uplink_.turn();
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

// Where there are several, another one may have begun before we learn that this one is down, or
// before its farewell comes. That one counts from its own beginning, which came after the last
// answer of the one before it.
std::int64_t Agent::outage_from_us() const {
  return uplink_.has_several() ? contact_->heard_at_us() : loop_.monotonic_us();
}

// It lives, decides nothing while it cannot write, and gives this node a grace anew before it
// decides again.
void Agent::controller_full(std::int64_t sent_us) {
  ++failures_;
  refused_.reset();
  broken_ = false;
  counted_on_ = true;
  contact_->heard(sent_us);
  renew();
  reconnect_timer_ = loop_.after(std::chrono::microseconds(backoff_us()), [this] { connect(); });
}

// At once but for a jitter after a session that worked; within a second while there is nobody;
// slower where the answer will hardly change.
std::int64_t Agent::backoff_us() {
  const std::int64_t most_us =
      refused_.has_value() ? 5'000'000 : (uplink_.has_several() ? 250'000 : 700'000);
  const std::int64_t wait_us =
      failures_ == 0 ? 0 : std::min<std::int64_t>(50'000LL << std::min(failures_, 8), most_us);
  const std::int64_t jitter_us = std::max<std::int64_t>(wait_us / 2, 100'000);
  return wait_us + static_cast<std::int64_t>(jitter_.below(static_cast<std::uint64_t>(jitter_us)));
}

// Tasks live on as long as the controller can count on it (invariant 5). It counts from the last
// message that it answered, which it had after we sent it; in a session some may be on their way.
// While its process is down nobody decides, and the next one waits for the grace of an outage.
void Agent::renew() {
  lease_timer_ = loop_.after(std::chrono::microseconds(fence_us_ / 4), [this] { renew(); });
  if (!options_.renew_lease || !counted_on_ || contact_->heard_at_us() == 0) return;
  const std::int64_t now_us = loop_.monotonic_us();
  const std::int64_t quiet_us = now_us - contact_->heard_at_us();
  const std::int64_t most_us =
      disconnect_grace_us_ + (session_.empty() ? 0 : kBeatsUnderWay * heartbeat_us_);
  const bool in_grace = quiet_us >= 0 && quiet_us < most_us;
  if (in_grace || contact_->in_outage_grace(now_us)) options_.renew_lease(now_us + fence_us_);
}

}  // namespace dove::agent
