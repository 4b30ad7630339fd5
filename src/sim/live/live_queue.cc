// Replay of queue logs (Philly, SWF, our own) through the live scheduler.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "sim/live/live_cluster.h"
#include "sim/live/live_gang.h"
#include "sim/live/live_trace.h"

namespace dove::sim {
namespace {

class Replay {
 public:
  Replay(const QueueTrace& trace, const std::vector<std::int64_t>& gpus_by_node,
         const LiveScheduler& scheduler)
      : trace_(trace), cluster_(scheduler.policies, scheduler.settings) {
    for (std::size_t i = 0; i < gpus_by_node.size(); ++i) {
      cluster_.add_node(fmt::format("n{}", i), live_node(gpus_by_node[i]));
      largest_ = std::max(largest_, gpus_by_node[i]);
    }
    if (!trace.accounts_are_queues) return;
    for (std::size_t i = 0; i < trace.accounts.size(); ++i) {
      Queue queue;
      queue.name = queue_of(i);
      cluster_.declare(queue);
    }
  }

  Result<QueueResult> run() {
    const Instant begin = cluster_.now();
    std::size_t arrived = 0;
    TRY(cluster_.settle());
    const std::size_t count = trace_.jobs.size();
    while (arrived < count || cluster_.next() != kNever) {
      const Instant arrival =
          arrived < count ? begin + (trace_.jobs[arrived].submitted_at - Instant{}) : kNever;
      if (arrived == count && cluster_.running() == 0 && cluster_.state().usage.jobs_waiting == 0) {
        break;
      }
      cluster_.pass_to(std::min(arrival, cluster_.next()));
      for (; arrived < count &&
             begin + (trace_.jobs[arrived].submitted_at - Instant{}) == cluster_.now();
           ++arrived) {
        submit(trace_.jobs[arrived]);
      }
      TRY(cluster_.settle());
      const std::int64_t waiting = cluster_.state().usage.jobs_waiting;
      result_.longest_queue = std::max(result_.longest_queue, waiting);
    }
    return figures(begin);
  }

 private:
  std::string queue_of(std::size_t account) const { return fmt::format("vc-{}", account); }

  void submit(const QueueJob& job) {
    auto spec = std::make_shared<JobSpec>(live_gang(job.gpus, largest_));
    spec->user = fmt::format("user-{}", job.account);
    if (trace_.accounts_are_queues) spec->queue = queue_of(job.account);
    if (job.says_limit) spec->time_limit = job.limit;
    ids_.push_back(cluster_.submit(std::move(spec), job.run, Span{}));
  }

  Result<QueueResult> figures(Instant begin) {
    for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
      const LiveJob& it = cluster_.job(ids_[i]);
      if (it.ended_at == kNever) {
        return Error{ErrorKind::kInvalid, "too_large",
                     fmt::format("job {} of the trace, of {} GPUs, never ended: the cluster cannot "
                                 "hold it; give more with --nodes and --gpus-per-node",
                                 i + 1, trace_.jobs[i].gpus),
                     "nodes"};
      }
      result_.waited.push_back(it.started_at - (begin + (trace_.jobs[i].submitted_at - Instant{})));
      result_.last_end = std::max(result_.last_end, Instant{} + (it.ended_at - begin));
      result_.used_gpu_us += static_cast<__int128>(trace_.jobs[i].run.us) * trace_.jobs[i].gpus;
    }
    return std::move(result_);
  }

  const QueueTrace& trace_;
  LiveCluster cluster_;
  std::int64_t largest_ = 0;
  std::vector<JobId> ids_;
  QueueResult result_;
};

}  // namespace

Result<QueueResult> replay_live_queue(const QueueTrace& trace,
                                      const std::vector<std::int64_t>& gpus_by_node,
                                      const LiveScheduler& scheduler) {
  return Replay(trace, gpus_by_node, scheduler).run();
}

}  // namespace dove::sim
