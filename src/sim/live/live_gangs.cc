// Replay of Muri's traces through the live scheduler.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/live/live_cluster.h"
#include "sim/live/live_gang.h"
#include "sim/live/live_trace.h"

namespace dove::sim {
namespace {

std::vector<std::size_t> by_submission(const std::vector<GangJob>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].submitted_at < jobs[b].submitted_at;
  });
  return order;
}

}  // namespace

Result<LiveGangs> replay_live_gangs(const std::vector<GangJob>& jobs, std::int64_t nodes,
                                    std::int64_t gpus_per_node, const LiveScheduler& scheduler) {
  LiveCluster cluster(scheduler.policies, scheduler.settings);
  for (std::int64_t i = 0; i < nodes; ++i) {
    cluster.add_node(fmt::format("n{}", i), live_node(gpus_per_node));
  }
  const Instant begin = cluster.now();
  const std::vector<std::size_t> order = by_submission(jobs);
  std::vector<JobId> ids(jobs.size());
  const auto arrival_of = [&](std::size_t at) {
    return at < order.size() ? begin + (jobs[order[at]].submitted_at - Instant{}) : kNever;
  };
  for (std::size_t arrived = 0; arrived < order.size() || cluster.running() > 0;) {
    cluster.pass_to(std::min(arrival_of(arrived), cluster.next()));
    for (; arrival_of(arrived) == cluster.now(); ++arrived) {
      const GangJob& job = jobs[order[arrived]];
      auto spec = std::make_shared<JobSpec>(live_gang(job.gpus, gpus_per_node));
      spec->user = "user";
      spec->preempt = Preempt::kCheckpoint;
      ids[order[arrived]] = cluster.submit(std::move(spec), job.work, job.switch_overhead);
    }
    TRY(cluster.settle());
  }
  LiveGangs found;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const LiveJob& it = cluster.job(ids[i]);
    if (it.ended_at == kNever) {
      return Error{ErrorKind::kInvalid, "too_large",
                   fmt::format("job {} of the trace wants {} GPUs and {} nodes of {} cannot hold "
                               "it; give more with --nodes and --gpus-per-node",
                               i + 1, jobs[i].gpus, nodes, gpus_per_node),
                   "nodes"};
    }
    found.completion.push_back(it.ended_at - (begin + (jobs[i].submitted_at - Instant{})));
    found.last_end = std::max(found.last_end, Instant{} + (it.ended_at - begin));
    found.starts += it.starts;
  }
  return found;
}

}  // namespace dove::sim
