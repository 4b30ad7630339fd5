// Desk: what everything that answers requests stands on: the way into the log, who a token belongs
// to, and the committed state that answers are read from. One per process, loop thread only.
//
// Where another controller leads it is given what is folded of that one's log, and writes nothing.
//
// The API and the agents' protocol share one desk and do not know each other.
//
// Include only from .cc files, and from headers that no other part reads.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/controller.h"
#include "listener/blobs.h"
#include "listener/call.h"
#include "listener/identity.h"
#include "listener/node_authority.h"
#include "listener/open_access.h"
#include "listener/projection.h"
#include "listener/refusal_tally.h"
#include "listener/refusals.h"
#include "listener/throttle.h"
#include "store/log_store.h"
#include "wire/loop.h"

namespace dove::listener {

struct DeskOptions {
  std::string data_dir;  // exists; holds `token`, `secret` and what a restart needs
  std::int64_t heartbeat_us = 2'000'000;  // what agents are told
  std::int64_t report_burst = 50'000;     // events that a node may have written down at once
  bool log_is_remote = false;             // controllers share it, across a network
  bool reads_aside = false;               // what the log is asked is asked beside the loop
  std::shared_ptr<const NodeAuthority> nodes = nullptr;  // nullptr: there is no TLS
  // The log is behind what an agent has seen, or the controller failed: the program must end with
  // this message. Called once, on the loop's thread.
  std::function<void(const Error&)> on_fatal;
  ThrottleLimits throttle = {};
  // Between two counts of GPU time, and two looks at what ends by time alone.
  std::int64_t count_every_us = 5'000'000;
  std::shared_ptr<RefusalTally> refused = nullptr;  // nullptr: nobody asks this controller
};

class Desk {
 public:
  using Done = std::function<void(Result<controller::Committed>)>;

  // Subscribes to `controller`. REQUIRES: the controller is open and not running; all outlive it.
  Desk(wire::Loop& loop, DeskOptions options, controller::Controller& controller,
       store::LogStore& log, Identity identity);
  // That of a controller that stands by goes on from `folded` with what take_batch() is given.
  Desk(wire::Loop& loop, DeskOptions options, controller::Controller& controller,
       store::LogStore& log, Identity identity, core::State folded);

  const core::State& state() const { return projection.state(); }
  // The time of the cluster (controller/controller.h): what callers are given lasts, and is judged,
  // by no other clock. Never before the state's own instant, which is that of the last batch.
  Instant now() const { return std::max(state().now, Instant{controller.now_us()}); }
  // Why a waiting job of the state, or one that it could have, is not started now.
  std::vector<Reason> explain(const core::Job& job) {
    return projection.explanations().explain(controller.policies(), job);
  }
  core::OtherSets other_sets(const core::Job& job) {
    return projection.explanations().other_sets(controller.policies(), job);
  }

  // Submits and comes back on the loop, once everything was folded into the projection.
  void submit(controller::Input input, Done done);
  // One event of a person's request.
  void submit(const Call& call, Event event, Done done);
  // One event that the controller observed or an agent reported: no caller waits for it.
  void observe(Event event);

  // Calls `listener` with each batch that was folded, in the order of these calls.
  void on_batch(std::function<void(const RecentBatch&)> listener);
  void take_batch(std::shared_ptr<const controller::CommittedBatch> batch);
  // What keeps the controller from its work, each with its remedy, for people.
  std::vector<std::string> troubles() const;
  // This log must not go on: work is refused and the program told to end.
  void give_up(const Error& why);
  // Streams are being ended: nothing that this causes is written down any more.
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  // Nothing goes to the controller any more: it is another desk's.
  void cut();
  // Writes down what a restart could not know: what was counted of GPU time.
  void keep_goodput();

  wire::Loop& loop;
  const DeskOptions options;
  controller::Controller& controller;
  store::LogStore& log;
  Identity identity;
  Projection projection;
  Blobs blobs;
  // The value of a secret, from whoever has its key; who gets it wipes it. Set before calls come.
  std::function<Result<std::string>(const Secret& secret)> open_secret = {};
  const std::unique_ptr<Throttle> throttle = std::make_unique<Throttle>(options.throttle);
  const std::unique_ptr<OpenAccess> open_access = std::make_unique<OpenAccess>();
  const std::unique_ptr<Refusals> refusals = std::make_unique<Refusals>(loop, [this](Event event) {
    if (!stopping_) note_refusal(std::move(event));
  });

 private:
  void warn_of_outdated_token();
  void note_refusal(Event event);
  void count_time();
  std::string goodput_path() const { return options.data_dir + "/goodput.json"; }
  void restore_goodput();

  std::vector<std::function<void(const RecentBatch&)>> on_batch_;
  wire::Timer count_timer_;
  bool is_token_outdated_ = false;  // as the log says
  std::int64_t goodput_kept_us_ = 0;
  const bool leads_;
  bool stopping_ = false;
  bool is_cut_ = false;
};

}  // namespace dove::listener
