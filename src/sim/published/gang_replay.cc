#include "sim/published/gang_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "sim/published/gang_nodes.h"

namespace dove::sim {
namespace {

struct Live {
  std::size_t job = 0;
  JobView view;
  Span left;
  Instant checked_at;
  OrderKey key = {};
};

class Replay {
 public:
  Replay(const std::vector<GangJob>& jobs, const GangCluster& cluster, const JobOrder& order)
      : jobs_(jobs), cluster_(cluster), order_(order), arrivals_(jobs.size()) {
    std::iota(arrivals_.begin(), arrivals_.end(), std::size_t{0});
    std::stable_sort(arrivals_.begin(), arrivals_.end(), [&](std::size_t a, std::size_t b) {
      return jobs[a].submitted_at < jobs[b].submitted_at;
    });
    result_.completion.resize(jobs.size());
  }

  GangResult run() {
    while (arrived_ < arrivals_.size() || !live_.empty()) {
      ++result_.events;
      const Instant arrival =
          arrived_ < arrivals_.size() ? jobs_[arrivals_[arrived_]].submitted_at : kNever;
      const Instant end = first_end();
      const Instant change = first_change();
      now_ = std::min({arrival, end, change});
      CHECK(now_ != kNever, "jobs wait and nothing will happen");
      if (now_ == end) finish();
      if (now_ == arrival) arrive();
      progress();
      sort();
      place();
    }
    return std::move(result_);
  }

 private:
  Instant first_end() const {
    Instant end = kNever;
    for (const Live& it : live_) {
      if (it.view.running) end = std::min(end, it.checked_at + it.left);
    }
    return end;
  }

  Instant first_change() const {
    Instant change = kNever;
    for (const Live& it : live_) {
      const Span settled = order_.settled(it.view);
      if (settled == JobOrder::kForever) continue;
      change = std::min(change, it.checked_at + std::max(settled, Span{1}));
    }
    return change;
  }

  void finish() {
    std::erase_if(live_, [&](Live& it) {
      if (!it.view.running || it.checked_at + it.left != now_) return false;
      serve(it, now_ - it.checked_at);
      result_.completion[it.job] = now_ - jobs_[it.job].submitted_at;
      result_.last_end = now_;
      return true;
    });
  }

  void arrive() {
    for (; arrived_ < arrivals_.size(); ++arrived_) {
      const GangJob& job = jobs_[arrivals_[arrived_]];
      if (job.submitted_at != now_) break;
      Live it;
      it.job = arrivals_[arrived_];
      it.view.sequence = static_cast<std::int64_t>(arrived_);
      it.view.submitted_at = now_;
      it.view.level_since = now_;
      it.view.size_milli = job.gpus * 1000;
      it.left = job.work;
      it.checked_at = now_;
      live_.push_back(it);
    }
  }

  void serve(Live& it, Span ran) { it.view.attained.us += ran.us; }

  void progress() {
    for (Live& it : live_) {
      const Span passed = now_ - it.checked_at;
      it.checked_at = now_;
      if (it.view.running) {
        serve(it, passed);
        const Span overhead = jobs_[it.job].switch_overhead;
        it.left.us -= std::max<std::int64_t>(0, passed.us - overhead.us);
      } else {
        it.view.waited.us += passed.us;
        it.view.paused.us += passed.us;
      }
      it.view.remaining = it.left;
      const std::int32_t level = order_.level(it.view);
      if (level == it.view.level) continue;
      if (level < it.view.level) {
        it.view.attained = Span{};
        it.view.paused = Span{};
      }
      it.view.level = level;
      it.view.level_since = now_;
    }
  }

  void sort() {
    const OrderView view{now_};
    for (Live& it : live_) it.key = order_.key(it.view, view);
    std::stable_sort(live_.begin(), live_.end(),
                     [](const Live& a, const Live& b) { return a.key < b.key; });
  }

  // Without preemption running jobs are placed before all others.
  void place() {
    if (!order_.preempts()) {
      std::stable_partition(live_.begin(), live_.end(),
                            [](const Live& it) { return it.view.running; });
    }
    GangNodes nodes(cluster_);
    for (Live& it : live_) {
      const bool runs = nodes.allocate(jobs_[it.job].gpus);
      if (runs && !it.view.running) ++result_.starts;
      if (!runs && it.view.running) it.view.paused = Span{};
      it.view.running = runs;
    }
  }

  const std::vector<GangJob>& jobs_;
  const GangCluster& cluster_;
  const JobOrder& order_;
  std::vector<std::size_t> arrivals_;
  std::size_t arrived_ = 0;
  std::vector<Live> live_;
  Instant now_;
  GangResult result_;
};

}  // namespace

Result<GangResult> replay_gangs(const std::vector<GangJob>& jobs, const GangCluster& cluster,
                                const JobOrder& order) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (GangNodes(cluster).allocate(jobs[i].gpus)) continue;
    return Error{ErrorKind::kInvalid, "too_large",
                 fmt::format("job {} of the trace wants {} GPUs and {} nodes of {} cannot hold it; "
                             "give more with --nodes and --gpus-per-node",
                             i + 1, jobs[i].gpus, cluster.nodes, cluster.gpus_per_node),
                 "nodes"};
  }
  return Replay(jobs, cluster, order).run();
}

}  // namespace dove::sim
