#include "sim/openb_replay.h"

#include <vector>

#include "core/place/score_index.h"
#include "core/state/mix.h"
#include "sim/openb_published_fgd.h"

namespace dove::sim {
namespace {

constexpr std::uint64_t kSeed = 1;        // of policies that draw
constexpr std::int32_t kTasksMax = 1001;  // on one node, in the published experiments

// The nearest whole number to part / whole, halves to the even one, as in the published figures.
std::int64_t rounded(std::int64_t part, std::int64_t whole) {
  const std::int64_t down = part / whole;
  const std::int64_t twice = 2 * (part % whole);
  if (twice > whole || (twice == whole && down % 2 == 1)) return down + 1;
  return down;
}

// What was in use at the arrivals of one load.
struct Load {
  std::int64_t used_sum = 0;  // hundredths of a per cent
  std::int64_t arrivals = 0;
};

class Replay {
 public:
  Replay(const OpenbTrace& trace, const core::ScorePolicy& policy, const OpenbOptions& options)
      : trace_(trace),
        policy_(policy),
        options_(options),
        index_(all_free(trace), policy.ties(), kSeed),
        tasks_on_(trace.nodes.size()) {
    prepare(trace.typical);
    for (const core::TaskShape& shape : trace.shapes) shape_ids_.push_back(index_.shape_id(shape));
  }

  OpenbResult run() {
    const std::int64_t all_milli = trace_.gpus_milli();
    std::map<std::int64_t, Load> loads;
    std::int64_t arrived_milli = 0;
    std::int64_t used_milli = 0;
    for (std::int32_t shape : trace_.arrivals) {
      const core::TaskShape& task = trace_.shapes[static_cast<std::size_t>(shape)];
      arrived_milli += task.gpus_milli();
      if (options_.learns_from_arrivals) learn(task);
      if (place(shape)) used_milli += task.gpus_milli();
      Load& load = loads[rounded(100 * arrived_milli, all_milli)];
      load.used_sum += rounded(10'000 * used_milli, all_milli);
      ++load.arrivals;
    }
    for (const auto& [load_pct, load] : loads) {
      if (load_pct < kFirstLoad_pct) continue;
      const double used_pct =
          static_cast<double>(load.used_sum) / 100.0 / static_cast<double>(load.arrivals);
      result_.unallocated_pct[static_cast<int>(load_pct)] = 100.0 - used_pct;
    }
    return result_;
  }

 private:
  static std::vector<core::FreeState> all_free(const OpenbTrace& trace) {
    std::vector<core::FreeState> nodes;
    for (const core::NodeClass& it : trace.nodes) nodes.push_back(core::all_free(it));
    return nodes;
  }

  void prepare(const std::vector<core::MixEntry>& mix) {
    auto scorer = policy_.prepare(mix, trace_.classes);
    if (options_.rounds_as_published) {
      scorer = std::make_unique<OpenbPublishedFgd>(std::move(scorer), trace_);
    }
    index_.use(scorer.get());
    scorer_ = std::move(scorer);
  }

  void learn(const core::TaskShape& task) {
    mix_.add(task);
    if (policy_.learns() && mix_.has_doubled()) prepare(mix_.typical());
  }

  bool place(std::int32_t shape) {
    const auto choice = index_.choose(shape_ids_[static_cast<std::size_t>(shape)]);
    if (!choice) {
      ++result_.dropped;
      return false;
    }
    core::FreeState state = index_.state(choice->node);
    core::take(state, trace_.shapes[static_cast<std::size_t>(shape)], choice->device);
    state.takes_more = ++tasks_on_[static_cast<std::size_t>(choice->node)] < kTasksMax;
    index_.set_state(choice->node, std::move(state));
    ++result_.placed;
    return true;
  }

  const OpenbTrace& trace_;
  const core::ScorePolicy& policy_;
  const OpenbOptions options_;
  core::Mix mix_;
  std::unique_ptr<const core::Scorer> scorer_;
  core::ScoreIndex index_;
  std::vector<std::int32_t> shape_ids_;  // by shape
  std::vector<std::int32_t> tasks_on_;   // by node
  OpenbResult result_;
};

}  // namespace

OpenbResult replay_openb(const OpenbTrace& trace, const core::ScorePolicy& policy,
                         const OpenbOptions& options) {
  return Replay(trace, policy, options).run();
}

}  // namespace dove::sim
