// Replay of a log of ours through the live scheduler: its jobs as they were submitted.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/place/cannot_start.h"
#include "core/place/limits.h"
#include "core/state/books.h"
#include "sim/live/live_cluster.h"
#include "sim/live/live_trace.h"
#include "sim/traces/queue_accounts.h"

namespace dove::sim {
namespace {

// Wake-ups in a row at which nothing runs and nobody is to come: what waits then, waits for ever.
constexpr int kIdleRounds_max = 10'000;

ClusterSettings with_countables(ClusterSettings settings, const LoggedWork& work) {
  settings.countables = work.countables;
  return settings;
}

class LogReplay {
 public:
  LogReplay(const LoggedWork& work, const LiveScheduler& scheduler)
      : work_(work),
        cluster_(scheduler.policies, with_countables(scheduler.settings, work),
                 work.jobs.begin()->second.submitted_at) {
    for (const Declared& object : work.objects) cluster_.declare(object);
    for (const LoggedNode& node : work.nodes) {
      cluster_.declare(node.declared);
      cluster_.add_node(node.declared.name, node.inventory);
    }
  }

  Result<LiveLog> run() {
    const Instant begin = cluster_.now();
    TRY(cluster_.settle());
    auto next = work_.jobs.begin();
    int idle = 0;
    while (next != work_.jobs.end() || !is_over(idle)) {
      const Instant arrival = next == work_.jobs.end() ? kNever : next->second.submitted_at;
      const Instant at = std::min(arrival, cluster_.next());
      if (at == kNever) break;
      cluster_.pass_to(at);
      for (; next != work_.jobs.end() && next->second.submitted_at <= at; ++next) {
        submit(next->first, next->second);
      }
      TRY(cluster_.settle());
      found_.result.longest_queue =
          std::max<std::int64_t>(found_.result.longest_queue, cluster_.state().usage.jobs_waiting);
    }
    for (const auto& [id, job] : work_.jobs) sum_up(job, begin);
    if (found_.trace.jobs.empty()) {
      return Error{ErrorKind::kInvalid, "too_large",
                   fmt::format("no job of the log can run on its nodes: {}; give nodes with "
                               "--nodes and --gpus-per-node",
                               found_.why),
                   "nodes"};
    }
    return std::move(found_);
  }

 private:
  bool is_over(int& idle) const {
    if (cluster_.running() > 0) idle = 0;
    const bool waits = cluster_.state().usage.jobs_waiting > 0;
    return cluster_.running() == 0 && (!waits || ++idle > kIdleRounds_max);
  }

  // The ids of the log become those of the replay.
  void rename_dependencies(const LoggedJob& job, JobSpec& spec) const {
    std::vector<Dependency> kept;
    for (Dependency one : spec.dependencies) {
      if (one.kind != DependencyKind::kSingleton) {
        const auto at = ids_.find(one.job);
        if (at == ids_.end()) continue;
        one.job = at->second;
      }
      kept.push_back(one);
    }
    if (kept.size() == spec.dependencies.size()) {
      spec.dependencies = std::move(kept);
      return;
    }
    spec.begin_at = std::max(spec.begin_at, job.eligible_at);
    // The one that is not here may have been the one that was enough.
    spec.dependencies = spec.any_dependency ? std::vector<Dependency>{} : std::move(kept);
  }

  std::shared_ptr<const JobSpec> spec_of(const LoggedJob& job) {
    auto spec = std::make_shared<JobSpec>(job.spec);
    // Its run is that of all attempts, and each ran on nodes of ours here.
    spec->retries_max = 0;
    spec->executor.clear();
    spec->foreign_job.clear();
    spec->parent = JobId{};
    rename_dependencies(job, *spec);
    const core::State& state = cluster_.state();
    if (core::pool_of(state, *spec) == nullptr) spec->pool.clear();
    if (!state.reservations.contains(spec->reservation)) spec->reservation.clear();
    if (!spec->array.indices.empty()) {
      spec->array.indices.clear();
      for (const LoggedRun& run : job.runs) spec->array.indices.push_back(run.array_index);
    }
    if (!state.queues.contains(spec->queue)) {
      Queue queue;
      queue.name = spec->queue;
      cluster_.declare(queue);
    }
    return spec;
  }

  void submit(JobId logged, const LoggedJob& job) {
    const auto spec = spec_of(job);
    // It would wait for ever, and in an order where nothing passes the first, all others too.
    const std::vector<std::string> why = core::cannot_start(cluster_.state(), *spec);
    if (!why.empty()) return leave_out(job.runs.front(), why.front());
    std::vector<LiveWork> works;
    for (const LoggedRun& run : job.runs) works.push_back({run.run, Span{}, run.exit_code});
    const JobId first = cluster_.submit_each(spec, works);
    ids_[logged] = first;  // an array's id, also where its first element is not here
    for (std::size_t i = 0; i < job.runs.size(); ++i) {
      ids_[job.runs[i].id] = JobId(first.value + i);
    }
  }

  void leave_out(const LoggedRun& run, const std::string& why) {
    if (found_.why.empty()) found_.why = fmt::format("job {}: {}", run.id.value, why);
  }

  void sum_up(const LoggedJob& job, Instant begin) {
    const std::int64_t milli = core::least_amount(job.spec).gpus_milli;
    for (const LoggedRun& run : job.runs) {
      const auto id = ids_.find(run.id);
      if (id == ids_.end() || cluster_.job(id->second).ended_at == kNever) {
        ++found_.not_run;
        leave_out(run, "it did not come to its end");
        continue;
      }
      const LiveJob& it = cluster_.job(id->second);
      QueueJob made;
      made.submitted_at = Instant{} + (job.submitted_at - begin);
      made.run = run.run;
      made.account = accounts_.number(found_.trace, job.spec.user);
      found_.trace.jobs.push_back(made);
      QueueResult& result = found_.result;
      result.waited.push_back(it.started_at - job.submitted_at);
      result.took.push_back(it.ended_at - job.submitted_at);
      result.last_end = std::max(result.last_end, Instant{} + (it.ended_at - begin));
      result.used_gpu_us += static_cast<__int128>(run.run.us) * milli / kWholeDevice_milli;
      result.stopped += it.starts - 1;
    }
  }

  const LoggedWork& work_;
  LiveCluster cluster_;
  std::map<JobId, JobId> ids_;  // here, by id in the log
  QueueAccounts accounts_;
  LiveLog found_;
};

}  // namespace

Result<LiveLog> replay_live_log(const LoggedWork& work, const LiveScheduler& scheduler) {
  return LogReplay(work, scheduler).run();
}

}  // namespace dove::sim
