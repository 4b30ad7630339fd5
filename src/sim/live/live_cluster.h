// LiveCluster: the live scheduler over virtual time, for replays of traces.
//
// The same apply and decide, with the same policies and settings, as a server has: order,
// placement, promises, preemption. Executors do at once what they are told; a job ends when it has
// run for as long as its replay says. Pure: the same input gives the same result. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/cycle/scheduler.h"
#include "model/by_id.h"
#include "model/event.h"

namespace dove::sim {

// What a job has to do.
struct LiveWork {
  Span run;
  Span loss;  // of it, at each instant at which another arrives or ends while it runs
  std::int32_t exit_code = 0;  // of each of its tasks that tells one, once all is done
};

// What became of one job of a replay.
struct LiveJob {
  LiveWork work;
  Span left;                    // to run still; it never ends by itself while this is kNever.us
  Instant checked_at;           // `left` is as of then, while it runs
  Instant started_at = kNever;  // the first time
  Instant ended_at = kNever;
  std::int64_t starts = 0;
  bool runs = false;
};

class LiveCluster {
 public:
  LiveCluster(const core::Policies& policies, const ClusterSettings& settings,
              Instant begin = Instant{1});
  LiveCluster(LiveCluster&&) = delete;

  const core::State& state() const { return state_; }
  Instant now() const { return state_.now; }
  std::int64_t running() const { return running_; }
  const LiveJob& job(JobId id) const { return jobs_[id]; }

  // Before the first job.
  void declare(Declared object);
  void add_node(const std::string& name, std::shared_ptr<const Inventory> inventory);

  // The next instant at which something happens by itself; kNever if nothing does.
  Instant next() const;
  // Lets time pass to `at`: what is over by then ends. REQUIRES: now() <= at <= next().
  void pass_to(Instant at);
  // Each job is submitted between pass_to and settle. One that begins anew when it was stopped
  // (Preempt::kRestart) has all its work before it then.
  JobId submit(std::shared_ptr<const JobSpec> spec, Span work, Span loss);
  // An array, or a job of its own with one piece of work: the id of its first element.
  // REQUIRES: a piece of work for each element.
  JobId submit_each(std::shared_ptr<const JobSpec> spec, const std::vector<LiveWork>& works);
  void cancel(JobId job);
  // Decides, and does what was decided, until nothing more is.
  Result<void> settle();

 private:
  void add(Event event);
  LiveJob& at(JobId id) { return jobs_[id]; }
  template <class Report>
  void report(JobId id, std::int32_t exit_code = 0);
  void carry_out(const Decision& decision);
  void begins(JobId id);
  void stops(JobId id);
  void progress_with_losses();

  core::Scheduler brain_;
  const core::State& state_ = brain_.state();
  ById<JobId, LiveJob> jobs_;
  std::set<std::pair<Instant, JobId>> ends_;  // of those that run
  std::int64_t running_ = 0;
  bool lossy_ = false;
  bool eventful_ = false;  // something arrived or ended at this instant
};

}  // namespace dove::sim
