// ProgressBoard: how far the running jobs are, rank by rank, as their tasks say themselves.
//
// In memory only, and gone with the process: agents tell it again. What the ledger needs of it (how
// far, and whether a node is slower than the others of its gang) is an event now and then. Nothing
// of it is trusted further than it concerns the job that said it. Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/state.h"
#include "model/event.h"
#include "telemetry/exposition.h"

namespace dove::server {

class ProgressBoard {
 public:
  // One entry of kind "progress" in a report of `node`. The event is for the log, when there is
  // something new in it for the ledger. `now_us` never goes back.
  std::optional<Event> take(const core::State& state, NodeId node, const nlohmann::json& item,
                            std::int64_t now_us);
  // A decision that was just folded: the attempt's progress is over with it.
  void decided(const Decision& decision);

  struct Hang {
    JobId job;
    NodeId node;          // of the rank that all others wait for; else of the first rank
    bool is_one = false;  // whether it is known which rank it is
    std::string evidence;
  };
  // Jobs whose ranks have told of no step for `after_us` (or 20 of their steps, if that is longer),
  // each once. When all but one wait for others, or are a step ahead, it is that one.
  std::vector<Hang> find_hangs(const core::State& state, std::int64_t after_us,
                               std::int64_t now_us);
  // Those that are over: a rank told of a step, or the attempt ended. Each once.
  std::vector<Hang> take_over();
  // What is known to keep the running job from getting on; "": nothing.
  std::string trouble(const core::State& state, JobId job) const;

  // Adds "progress" to the job's object: null when nothing was said. With `ranks` also each rank.
  void show(JobId job, bool ranks, nlohmann::json& object) const;
  // A series for each rank, with whom it works for.
  void add_to(telemetry::Exposition& out, const core::State& state) const;

 private:
  struct Ranked {
    NodeId node;
    std::int64_t step = 0;
    std::int64_t step_us = 0;
    std::int64_t busy_us = 0;  // the median lately, without waiting for others
    std::int64_t samples = 0;
    std::optional<double> loss;
    std::string phase;
    std::int64_t moved_us = 0;  // when `step` last changed
  };
  // What the log has of a node.
  struct Logged {
    std::int64_t step = 0;
    std::int64_t busy_us = 0;
    std::int64_t at_us = 0;
    int slow = 0;  // so many in a row
  };
  struct Progress {
    AttemptNumber attempt = 0;
    std::map<Rank, Ranked> ranks;
    std::map<NodeId, Logged> logged;
    std::optional<Hang> hang;  // until a rank tells of a step
  };

  static const std::pair<const Rank, Ranked>* awaited(const Progress& progress);
  static bool is_news(const Progress& progress, NodeId node, const ProgressReported& now,
                      bool is_slow, std::int64_t now_us);

  void end_hang(Progress& progress);

  std::map<JobId, Progress> jobs_;
  std::vector<Hang> over_;
};

}  // namespace dove::server
