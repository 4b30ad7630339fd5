// Term: a controller's turn to lead, where several share a log in PostgreSQL.
//
// On a thread of its own it first follows: it folds what the leader writes, and watches the lease.
// Once that is over it opens the controller, which begins a term, and from then on renews the lease
// three times in its length. holds() is true until the lease would be over for others, counted from
// before it was renewed: whoever answers or acts for the controller asks first. A lease that could
// not be renewed for a while and was not taken by another goes on.
//
// hand_over() ends it by intent: the controller stops, and the lease goes to a standby, which need
// not wait for its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "controller/controller.h"
#include "store/postgres/postgres_store.h"

namespace dove::programs {

// What is known of the leader, while another one leads.
struct Standing {
  std::optional<store::LeaderSeen> leader;  // none: the database could not be asked yet
  Seq folded;                               // up to here its log is folded
  std::int64_t followed_us = 0;             // monotonic: up to this moment; 0: not yet
  std::optional<Error> trouble;             // why it is not followed now
};

class Term {
 public:
  // Called on this thread, each once at most.
  struct Calls {
    // The controller is open.
    std::function<void()> leads;
    // At any time: it must end (another leads, or the log is not to be believed).
    std::function<void(const Error&)> over;
    // It is handed over: nobody is to be answered for it any more. The controller has stopped, and
    // is the caller's, when `handed` is called, the last of all calls.
    std::function<void()> rests = {};
    std::function<void()> handed = {};
  };
  // Both outlive it. The controller is this thread's until `leads` is called.
  Term(store::PostgresStore& store, controller::Controller& controller, Calls calls);
  ~Term();  // the lease is given back with the store

  bool holds() const;  // any thread
  Standing standing() const;
  // What an acknowledged write does not survive, as of some seconds ago; "": nothing is known.
  std::string can_be_lost() const;
  // Who stands by, as of some seconds ago, the most recent first.
  std::vector<store::ControllerSeen> standbys() const;
  // Begins to hand over to that controller, "": to the one that has folded most. Whom it will be;
  // `calls` say the rest. Errors: not_leader, no_standby, no_such_controller, handing_over.
  Result<store::ControllerSeen> hand_over(const std::string& name);

 private:
  void run();
  bool stand_by();  // false: it is over
  bool lead();
  bool begin(std::int64_t begun_us);
  void end(const Error& error);
  void pause(std::int64_t us);
  void wake();
  void look_at_database();
  void look_at_others();
  void give_to(const std::string& name);
  void say(const char* what, const Error& error);

  store::PostgresStore& store_;
  controller::Controller& controller_;
  const Calls calls_;
  std::atomic<std::int64_t> holds_until_us_ = 0;
  std::atomic<bool> stops_ = false;
  bool leads_ = false;
  std::string said_;  // the last trouble, said once
  int wakes_ = -1;    // readable when it is to stop
  mutable std::mutex mutex_;
  Standing standing_;
  std::string can_be_lost_;
  std::vector<store::ControllerSeen> standbys_;
  std::optional<std::string> next_;  // who is to lead
  std::int64_t looked_us_ = 0;
  std::int64_t looked_at_others_us_ = 0;
  std::int64_t said_us_ = 0;  // that this one stands by
  std::thread thread_;
};

}  // namespace dove::programs
