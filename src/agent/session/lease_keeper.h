// LeaseKeeper: whether the controller counts on this node's tasks, and so until when they may run
// (docs/decisions/0002-fence.md).
//
// A controller that has not heard of a node for the disconnect grace waits for the fence as well,
// then starts the node's tasks elsewhere. The lease, which is as long as the fence, is therefore
// renewed only while the controller cannot have begun to count on the fence: its last message is
// recent enough, and nothing has happened since that may look like a break to it. Whenever that is
// in doubt the lease is left to run out, and the shims end their tasks. Owned by Session. Loop
// thread only.
//
// A virtual machine that its hypervisor pauses has no time meanwhile, on any clock of its own,
// until something sets its wall clock. A wall clock that leaps forward is taken as such a pause:
// time has passed for the controller, and the leaps since its last answer add up. Beyond a fence it
// may have seen a break in a session, so nothing is renewed before it has answered a request made
// since. A clock that was merely set costs nothing then, because a controller that counts on this
// node answers long before the lease is over. If that session breaks instead, or a silence with its
// leaps is longer than the grace and the fence, the node may have been given up: that a controller
// is down or full later proves nothing about it. While no controller answers, a leap counts as
// time: one of more than what is left of the grace ends the tasks, also where the clock was merely
// set. How the clocks stood is kept in the contact, so a restart of the agent, which for the
// controller is a break, hides no leap.
#pragma once

#include <cstdint>
#include <functional>

#include "agent/session/contact.h"
#include "wire/loop.h"

namespace dove::agent {

class LeaseKeeper {
 public:
  // Told each renewal: the lease's new deadline (CLOCK_BOOTTIME). Unset: there are no shims.
  using Renew = std::function<void(std::int64_t deadline_us)>;

  // What a controller agreed on with this node.
  struct Terms {
    std::int64_t fence_us = 5'000'000;
    std::int64_t disconnect_grace_us = 300'000'000;
    std::int64_t outage_grace_us = 0;
    std::int64_t heartbeat_us = 2'000'000;
  };

  struct Host {
    Renew renew;
    std::function<void()> ask;              // the session's controller for an answer, now
    std::function<std::int64_t()> wall_us;  // unset: the loop's
  };

  // Goes on with the terms of the contact, if there was one in this boot. `contact` outlives it.
  LeaseKeeper(wire::Loop& loop, Contact& contact, Host host);

  // From here on renews four times in a fence.
  void begin() { renew(); }
  // `sent_us`: when the message was sent that the session's answer came to.
  void session_began(const Terms& terms, std::int64_t sent_us);
  // `in_silence`: nothing was closed, so the controller may not have noticed.
  void session_lost(bool in_silence);
  // The connection of a session that was lost in silence was closed after all, not by the
  // controller.
  void silence_broken();
  // A controller answers, but does not take this node.
  void refused();
  // Its process was not there at that instant.
  void controller_down(std::int64_t at_us);
  // One that has begun to lead answered what was sent then: it waits for this node so long from
  // there, whatever has broken before.
  void awaited(std::int64_t sent_us, std::int64_t waits_us);
  // What is sent now may begin a session of which this node never hears; `asked_us`: when the last
  // question was sent that was answered.
  void may_be_heard(std::int64_t asked_us);
  // It cannot be reached, and why is not known.
  void unreachable();
  // It answered what was sent then, and can write nothing.
  void controller_full(std::int64_t sent_us);

 private:
  void renew();
  void look_for_leap();
  void note_clocks();
  void wait_out(std::int64_t outage_at_us);
  bool may_be_given_up();
  // The leaps since the last answer hide a break.
  bool asks_first() const { return missed_us_ > terms_.fence_us; }
  std::int64_t wall_ahead_us() const;

  wire::Loop& loop_;
  Contact& contact_;
  const Host host_;
  Terms terms_;
  bool in_session_ = false;
  bool broken_ = true;       // the last session ended other than by silence
  bool counted_on_ = false;  // the controller counts on our tasks: the lease may be renewed
  std::int64_t ahead_us_;    // the wall clock, of the loop's, when the lease was last looked after
  std::int64_t missed_us_ = 0;  // time that passed for others alone, since the last answer
  std::int64_t missed_at_us_ = 0;
  wire::Timer timer_;
};

}  // namespace dove::agent
