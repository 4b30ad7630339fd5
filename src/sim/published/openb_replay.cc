#include "sim/published/openb_replay.h"

#include <vector>

#include "core/place/mix.h"
#include "core/place/score_index.h"
#include "sim/published/openb_published_fgd.h"

namespace dove::sim {
namespace {

constexpr std::uint64_t kSeed = 1;        // of policies that draw
constexpr std::int32_t kTasksMax = 1001;  // on one node, in the published experiments

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
    OpenbTally tally(trace_.gpus_milli());
    for (std::int32_t shape : trace_.arrivals) {
      tally.arrived(trace_.shapes[static_cast<std::size_t>(shape)].gpus_milli(), place(shape));
    }
    return tally.result();
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

  bool place(std::int32_t shape) {
    const auto choice = index_.choose(shape_ids_[static_cast<std::size_t>(shape)]);
    if (!choice) return false;
    core::FreeState state = index_.state(choice->node);
    core::allocate(state, trace_.shapes[static_cast<std::size_t>(shape)], choice->device);
    state.takes_more = ++tasks_on_[static_cast<std::size_t>(choice->node)] < kTasksMax;
    index_.set_state(choice->node, std::move(state));
    return true;
  }

  const OpenbTrace& trace_;
  const core::ScorePolicy& policy_;
  const OpenbOptions options_;
  std::unique_ptr<const core::Scorer> scorer_;
  core::ScoreIndex index_;
  std::vector<std::int32_t> shape_ids_;  // by shape
  std::vector<std::int32_t> tasks_on_;   // by node
};

}  // namespace

OpenbResult replay_openb(const OpenbTrace& trace, const core::ScorePolicy& policy,
                         const OpenbOptions& options) {
  return Replay(trace, policy, options).run();
}

}  // namespace dove::sim
