#include "sim/published/queue_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "sim/published/queue_nodes.h"

namespace dove::sim {
namespace {

struct Waiting {
  OrderKey key = {};
  std::size_t job = 0;
  bool operator<(const Waiting& other) const {
    return key != other.key ? key < other.key : job < other.job;
  }
};

// Until when the head of the queue is held up, and what will be free then beside it.
struct Promise {
  Instant at = kNever;
  QueueNodes left;
};

class Replay {
 public:
  Replay(const QueueTrace& trace, const std::vector<std::int64_t>& gpus_by_node,
         const QueuePolicy& policy)
      : trace_(trace),
        policy_(policy),
        nodes_(gpus_by_node),
        taken_(trace.jobs.size()),
        used_by_account_(trace.accounts.size()) {
    result_.waited.resize(trace.jobs.size());
  }

  QueueResult run() {
    while (arrived_ < trace_.jobs.size() || !by_end_.empty()) {
      const Instant arrival =
          arrived_ < trace_.jobs.size() ? trace_.jobs[arrived_].submitted_at : kNever;
      const Instant end = by_end_.empty() ? kNever : by_end_.begin()->first;
      now_ = std::min(arrival, end);
      const bool freed = finish();
      const std::size_t before = arrived_;
      arrive();
      // Who did not fit before still does not when nothing was freed.
      const bool only_new = !freed && policy_.admission == Admission::kPassOver;
      admit(only_new ? before : 0);
      const auto queued = static_cast<std::int64_t>(waiting_.size());
      result_.longest_queue = std::max(result_.longest_queue, queued);
    }
    CHECK(waiting_.empty(), "a job of the trace never started");
    return std::move(result_);
  }

 private:
  const QueueJob& job(std::size_t index) const { return trace_.jobs[index]; }

  bool finish() {
    bool freed = false;
    while (!by_end_.empty() && by_end_.begin()->first == now_) {
      const std::size_t index = by_end_.begin()->second;
      by_end_.erase(by_end_.begin());
      by_limit_.erase({started_at(index) + job(index).limit, index});
      nodes_.release(taken_[index]);
      used_by_account_[job(index).account] -= job(index).gpus;
      result_.last_end = now_;
      freed = true;
    }
    return freed;
  }

  void arrive() {
    for (; arrived_ < trace_.jobs.size() && job(arrived_).submitted_at == now_; ++arrived_) {
      waiting_.push_back({{}, arrived_});
    }
  }

  Instant started_at(std::size_t index) const {
    return job(index).submitted_at + result_.waited[index];
  }

  OrderKey key(std::size_t index, const OrderView& view) const {
    const QueueJob& it = job(index);
    JobView seen;
    seen.sequence = static_cast<std::int64_t>(index);
    seen.submitted_at = it.submitted_at;
    seen.size_milli = it.gpus * 1000;
    seen.waited = seen.paused = now_ - it.submitted_at;
    seen.remaining = it.run;
    seen.level_since = it.submitted_at;
    seen.account.share_ppm = used_by_account_[it.account] * 1'000'000 / nodes_.total();
    return policy_.order->key(seen, view);
  }

  void sort(std::vector<Waiting>::iterator from) {
    const OrderView view{now_};
    for (auto it = from; it != waiting_.end(); ++it) it->key = key(it->job, view);
    std::sort(from, waiting_.end());
  }

  void start(std::size_t index, Taken taken) {
    nodes_.allocate(taken);
    taken_[index] = std::move(taken);
    result_.waited[index] = now_ - job(index).submitted_at;
    result_.used_gpu_us += static_cast<__int128>(job(index).run.us) * job(index).gpus;
    used_by_account_[job(index).account] += job(index).gpus;
    by_end_.emplace(now_ + job(index).run, index);
    by_limit_.emplace(now_ + job(index).limit, index);
  }

  // Starts what may start among the waiting jobs with at least this index.
  void admit(std::size_t from_job) {
    const auto from = std::partition(waiting_.begin(), waiting_.end(),
                                     [&](const Waiting& it) { return it.job < from_job; });
    const auto at = from - waiting_.begin();
    if (from == waiting_.end() || nodes_.free() == 0) return;
    sort(from);
    std::vector<Waiting> left(waiting_.begin(), waiting_.begin() + at);
    std::set<std::int64_t> too_large;
    std::optional<Promise> promise;
    for (std::size_t i = static_cast<std::size_t>(at); i < waiting_.size(); ++i) {
      const Waiting it = waiting_[i];
      if (try_start(it.job, too_large, promise)) {
        if (policy_.by_share) sort(waiting_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        continue;
      }
      left.push_back(it);
      if (policy_.admission == Admission::kHeadBlocks) {
        left.insert(left.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    waiting_.end());
        break;
      }
      if (policy_.admission == Admission::kReserveHead && !promise) promise = promise_to(it.job);
    }
    waiting_ = std::move(left);
  }

  bool try_start(std::size_t index, std::set<std::int64_t>& too_large,
                 std::optional<Promise>& promise) {
    const std::int64_t gpus = job(index).gpus;
    if (too_large.count(gpus) != 0) return false;
    std::optional<Taken> taken = nodes_.find(gpus);
    if (!taken) {
      too_large.insert(gpus);
      return false;
    }
    if (promise && now_ + job(index).limit > promise->at) {
      if (!promise->left.has(*taken)) return false;
      promise->left.allocate(*taken);
    }
    start(index, std::move(*taken));
    return true;
  }

  Promise promise_to(std::size_t head) const {
    Promise promise{now_, nodes_};
    std::optional<Taken> taken;
    for (const auto& [end, index] : by_limit_) {
      promise.at = std::max(now_, end);
      promise.left.release(taken_[index]);
      taken = promise.left.find(job(head).gpus);
      if (taken) break;
    }
    CHECK(taken, "an empty cluster holds every job of the trace");
    promise.left.allocate(*taken);
    return promise;
  }

  const QueueTrace& trace_;
  const QueuePolicy& policy_;
  QueueNodes nodes_;
  std::vector<Taken> taken_;  // by job, while it runs
  std::vector<std::int64_t> used_by_account_;
  std::set<std::pair<Instant, std::size_t>> by_end_;
  std::set<std::pair<Instant, std::size_t>> by_limit_;
  std::vector<Waiting> waiting_;
  std::size_t arrived_ = 0;
  Instant now_;
  QueueResult result_;
};

}  // namespace

Result<QueueResult> replay_queue(const QueueTrace& trace,
                                 const std::vector<std::int64_t>& gpus_by_node,
                                 const QueuePolicy& policy) {
  const QueueNodes empty(gpus_by_node);
  for (const QueueJob& job : trace.jobs) {
    if (empty.find(job.gpus)) continue;
    return Error{ErrorKind::kInvalid, "too_large",
                 fmt::format("a job of the trace wants {} GPUs and the {} nodes with {} GPUs "
                             "cannot hold it; give more with --nodes and --gpus-per-node",
                             job.gpus, gpus_by_node.size(), empty.total()),
                 "nodes"};
  }
  return Replay(trace, gpus_by_node, policy).run();
}

}  // namespace dove::sim
