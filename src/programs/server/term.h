// Term: a controller's turn to lead (controller/turn.h), where several share a log in PostgreSQL,
// on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/controller.h"
#include "controller/turn.h"
#include "store/postgres/postgres_store.h"

namespace dove::programs {

using controller::Standing;

class Term {
 public:
  // On this thread; `over` at any time.
  using Calls = controller::Turn::Calls;
  // Both outlive it. The controller is this thread's until `leads` is called.
  // `says`: as TurnOptions::says, on this thread.
  Term(store::PostgresStore& store, controller::Controller& controller, Calls calls,
       std::function<std::string()> says);
  ~Term();  // the lease is given back with the store

  // As Turn's.
  bool holds() const { return turn_.holds(); }
  Standing standing() const { return turn_.standing(); }
  bool knows_standbys() const { return turn_.standbys().has_value(); }
  std::vector<store::ControllerSeen> standbys() const {
    return turn_.standbys().value_or(std::vector<store::ControllerSeen>());
  }
  Result<store::ControllerSeen> hand_over(const std::string& name);
  // What an acknowledged write does not survive, as of some seconds ago; "": nothing is known.
  std::string can_be_lost() const;

 private:
  void run();
  void pause(std::int64_t us);
  void wake();
  void look_at_database();

  store::PostgresStore& store_;
  controller::Turn turn_;
  std::atomic<bool> stops_ = false;
  int wakes_ = -1;  // readable when it is to stop
  mutable std::mutex mutex_;
  std::string can_be_lost_;
  std::int64_t looked_us_ = 0;
  std::thread thread_;
};

}  // namespace dove::programs
