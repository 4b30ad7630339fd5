// Turn: whether this controller leads, where several share a log, and what it does about that.
//
// step() does what is to be done now, and says when to call it again. First it follows: it folds
// what the leader writes, and watches the lease. Once that is over it opens the controller, which
// begins a term; from then on it renews the lease three times in its length. holds() is true until
// the lease would be over for others, counted from before it was renewed: whoever answers or acts
// for the controller asks first. A lease that could not be renewed for a while and was not taken by
// another goes on. hand_over() ends the turn by intent: the controller stops, and the lease goes to
// a standby, which need not wait for its end.
//
// step() may wait for the store, and is for one thread, as is the controller until Calls::leads.
// All else may be called on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/controller.h"
#include "store/lease.h"

namespace dove::controller {

// What is known of the leader, while another one leads.
struct Standing {
  std::optional<store::LeaderSeen> leader;  // none: the store could not be asked yet
  Seq folded;                               // up to here its log is folded
  std::int64_t followed_us = 0;             // monotonic: up to this moment; 0: not yet
  std::optional<Error> trouble;             // why it is not followed now
};

struct TurnOptions {
  std::int64_t lease_us = 0;                // as the store gives it
  std::function<std::int64_t()> monotonic;  // microseconds; while the machine sleeps, too
  std::int64_t look_us = 1'000'000;         // between two looks of a standby that hears no news
  std::int64_t others_look_us = 900'000;    // between two of a leader at its standbys
  std::int64_t standby_us = 5'000'000;      // who has said nothing for this long is not there
  std::function<std::string()> says = {};   // as in Standbys::stands_by
};

class Turn {
 public:
  // Called from step(), each once at most.
  struct Calls {
    // The controller is open.
    std::function<void()> leads;
    // It must end: another leads, or the log is not to be believed.
    std::function<void(const Error&)> over;
    // It is handed over: nobody is to be answered for it any more. The controller has stopped, and
    // is the caller's, when `handed` is called, the last of all calls.
    std::function<void()> rests = {};
    std::function<void()> handed = {};
  };
  struct Next {
    bool is_over = false;    // step() is called no more
    std::int64_t in_us = 0;  // at most that long
    bool with_news = false;  // earlier, when the log or the lease has changed
  };
  // All outlive it.
  Turn(store::Lease& lease, store::Standbys& others, Controller& controller, TurnOptions options,
       Calls calls);

  Next step();
  // From now on nobody is called: the process ends.
  void stop() { stops_ = true; }
  bool holds() const { return options_.monotonic() < holds_until_us_.load(); }
  bool leads() const { return leads_; }  // thread of step()
  Standing standing() const;
  // The others, as of some seconds ago, the most recent first; none: they were not read yet.
  std::optional<std::vector<store::ControllerSeen>> standbys() const;
  // The next step() hands over to that controller, "": to the one that has folded most. Whom it
  // will be; `calls` say the rest. Errors: not_leader, no_standby, no_such_controller,
  // handing_over.
  Result<store::ControllerSeen> hand_over(const std::string& name);

 private:
  Next stand_by();
  Next lead();
  Next begin(std::int64_t begun_us);
  Next end(const Error& error);
  Next give_to(const std::string& name);
  void look_at_others();
  void say(const char* what, const Error& error);

  store::Lease& lease_;
  store::Standbys& others_;
  Controller& controller_;
  const TurnOptions options_;
  const Calls calls_;
  std::atomic<std::int64_t> holds_until_us_ = 0;
  std::atomic<bool> stops_ = false;
  bool leads_ = false;
  std::string said_;  // the last trouble, said once
  mutable std::mutex mutex_;
  Standing standing_;
  std::optional<std::vector<store::ControllerSeen>> standbys_;
  std::optional<std::string> next_;  // who is to lead
  std::optional<std::int64_t> looked_at_others_us_;
  std::optional<std::int64_t> said_us_;  // that this one stands by
};

}  // namespace dove::controller
