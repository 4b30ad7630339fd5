// Attempts: the attempts that this node holds. They are taken up again after a restart, looked up
// by their orders, stopped, and forgotten.
//
// An attempt is here from the moment when it becomes active until the controller confirms that it
// has recorded its end; its directory then moves to those of finished attempts. An order for an
// attempt that is not here is answered as if the attempt had ended, so that no client waits for it.
// Owned by Agent. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/aside/side_threads.h"
#include "agent/attempts/active_attempt.h"
#include "agent/attempts/attempt_record.h"
#include "agent/attempts/task_streams.h"
#include "agent/secrets/secret_requests.h"
#include "agent/session/report_queue.h"
#include "agent/tasks/environment.h"
#include "protocol/control.h"
#include "protocol/reports.h"
#include "protocol/session.h"
#include "wire/loop.h"

namespace dove::agent {

class Attempts {
 public:
  struct Options {
    std::string data_dir;  // attempts/ and finished/ are there
    bool keeps_records = true;
    bool mapped_users = true;
    std::int64_t output_rotate_bytes = 0;
    std::chrono::milliseconds needs_limit{120'000};  // for users and file systems to answer
  };
  using Active = std::map<AttemptKey, std::unique_ptr<ActiveAttempt>>;

  // All of them outlive it. `facts` may change until load() or the first hold().
  Attempts(wire::Loop& loop, Options options, const AgentFacts& facts, Runner& runner,
           SideThreads& side, TaskStreams& streams, SecretRequests& secrets, ReportQueue& reports);

  // Takes up what a former life left. A directory that is nobody's attempt is left alone, one in
  // which nothing was started is removed, and of one whose order cannot be read all that runs is
  // stopped.
  void load();
  // A new attempt: writes it down and starts it. REQUIRES: it is not here.
  void launch(LaunchOrder order, const std::string& text);

  // Called before the end of a task or of a whole attempt is reported, while it is still held: what
  // its tasks said of others has to be heard first. Unset: nothing is.
  void before_ends(std::function<void(AttemptKey)> call) { before_end_ = std::move(call); }

  // With those that have ended and are not recorded yet.
  const Active& active() const { return active_; }
  ActiveAttempt* find(AttemptKey key) const;   // nullptr: it is not here
  std::vector<ActiveAttempt*> living() const;  // that have not ended
  bool lives(AttemptKey key) const;            // it is here, and has not ended

  // An order that came again: says how far it is. False: it is not here.
  bool repeat(AttemptKey key);
  // `given`: its placement as it is now; unset: as it was launched.
  void pass_barrier(AttemptKey key, const std::optional<Placement>& given = std::nullopt);
  void stop(AttemptKey key, bool preempted, std::chrono::milliseconds grace);
  // Its end is recorded. What has not ended stays.
  void forget(AttemptKey key);
  void signal(const protocol::Signal& signal);
  void start_step(const StepOrder& step);
  void attach_step(const StepAttach& attach);
  void exec(const ExecOrder& order);
  void forward(const ForwardOrder& order);
  // What the controller asked to read; its path is empty when there is none.
  Relays::Source output(const protocol::RelayOrder& relay) const;

  // Says what is held. `brings_ends`: the latest of those that were forgotten, too.
  void describe(protocol::Sync& sync, bool brings_ends) const;
  // A digest of what is held, and what is `also` on its way.
  std::uint64_t placements_hash(const std::vector<AttemptKey>& also) const;
  // A session began: what an agent's death interrupted goes on, and the controller hears again what
  // it does not keep.
  void session_began();
  // Stops every task (ActiveAttempt::leave), and calls `done` when none is left, or with false
  // after 10 s.
  void stop_all(std::function<void(bool over)> done);

 private:
  ActiveAttempt& hold(LaunchOrder order);
  AttemptContext context(AttemptKey key);
  // What a former life left of one, read once.
  struct Left {
    AttemptOnDisk found;
    std::optional<LaunchOrder> order;
  };
  void load_one(const std::string& directory, Left left);
  void look_up_users(const std::set<std::string>& users);
  void meet(AttemptKey key, Needs needs, std::function<void(Result<void>)> done);
  struct Unmet {
    AttemptKey key;
    Needs needs;
    std::function<void(Result<void>)> done;
    std::int64_t until_us = 0;
    std::optional<Error> away = {};  // what the latest look said
  };
  void look_at(Unmet one);
  void look_again_later(Unmet one);
  void report(protocol::Report said);
  void tell_shares_and_warnings(const ActiveAttempt& attempt);
  std::string finished_output(AttemptKey key, Rank rank, bool is_stdout,
                              std::optional<std::string>& owner) const;
  bool is_one_file(AttemptKey key, Rank rank, const std::string& path) const;
  void check_stopped(std::int64_t since_us, std::int64_t kill_after_us);
  std::string directory(AttemptKey key) const;

  wire::Loop& loop_;
  const Options options_;
  const AgentFacts& facts_;
  Runner& runner_;
  SideThreads& side_;
  TaskStreams& streams_;
  SecretRequests& secrets_;
  ReportQueue& reports_;
  Active active_;
  std::function<void(AttemptKey)> before_end_;
  std::function<void(bool over)> stopped_;  // set while stopping everything
  wire::Timer stop_timer_;
  std::vector<Unmet> unmet_;  // the directory of users is away
  wire::Timer unmet_timer_;
};

}  // namespace dove::agent
