// Term: a controller's turn to lead, where several share a log in PostgreSQL.
//
// On a thread of its own it first follows: it folds what the leader writes, and watches the lease.
// Once that is over it opens the controller, which begins a term, and from then on renews the lease
// three times in its length. holds() is true until the lease would be over for others, counted from
// before it was renewed: whoever answers or acts for the controller asks first. A lease that could
// not be renewed for a while and was not taken by another goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"
#include "controller/controller.h"
#include "store/postgres/postgres_store.h"

namespace dove::programs {

// What is known of the leader, while another one leads.
struct Standing {
  std::optional<store::LeaderSeen> leader;  // none: the database could not be asked yet
  Seq folded;                               // up to here its log is folded
  std::optional<Error> trouble;             // why it is not followed now
};

class Term {
 public:
  // Called on this thread, each once at most: the controller is open; and, at any time, it must end
  // (another leads, or the log is not to be believed).
  struct Calls {
    std::function<void()> leads;
    std::function<void(const Error&)> over;
  };
  // Both outlive it. The controller is this thread's until `leads` is called.
  Term(store::PostgresStore& store, controller::Controller& controller, Calls calls);
  ~Term();  // the lease is given back with the store

  bool holds() const;  // any thread
  Standing standing() const;
  // What an acknowledged write does not survive, as of some seconds ago; "": nothing is known.
  std::string can_be_lost() const;

 private:
  void run();
  bool stand_by();  // false: it is over
  bool lead();
  bool begin(std::int64_t begun_us);
  void end(const Error& error);
  void pause(std::int64_t us);
  void look_at_database();
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
  std::int64_t looked_us_ = 0;
  std::thread thread_;
};

}  // namespace dove::programs
