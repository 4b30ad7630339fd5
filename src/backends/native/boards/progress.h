// ProgressBoard: how far the running jobs are, rank by rank, by their tasks' own account.
//
// In memory only, and gone with the process: agents report it again. What the ledger needs of it
// (how far, whether a node is slower than the others of its gang, whether all ranks are silent) is
// an occasional event; the core decides what follows. A report is trusted only as far as it
// concerns the job that made it. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/state/findings.h"
#include "core/state/state.h"
#include "model/event.h"
#include "protocol/reports.h"
#include "telemetry/exposition.h"

namespace dove::backends {

class ProgressBoard {
 public:
  // What `node` said; of an attempt that does not run there it is dropped. The event is for the
  // log, when there is something new in it for the ledger. `now_us` never goes back.
  std::optional<Event> take(const core::State& state, NodeId node, const protocol::Progress& said,
                            std::int64_t now_us);
  // A decision that was just folded: the attempt's progress is over with it.
  void decided(const Decision& decision);

  // HangObserved for jobs whose ranks have reported no step for the cluster's `hang_after` (or 20
  // of their steps, if that is longer), and HangEnded for those where a rank has reported one
  // since: each once. When all but one wait for others, or are a step ahead, it names that one.
  std::vector<Event> look(const core::State& state, std::int64_t now_us);
  // What is known to keep the running job from getting on; "": nothing.
  std::string trouble(const core::State& state, JobId job) const;

  // Adds "progress" to the job's object, null without a report. With `ranks` also each rank.
  void show(const core::State& state, JobId job, bool ranks, nlohmann::json& object) const;
  // A series for each rank of the jobs of users whom `shows` lets through.
  using ShowsUser = std::function<bool(const std::string& user)>;
  void add_to(telemetry::Exposition& out, const core::State& state, const ShowsUser& shows) const;

 private:
  struct Ranked {
    NodeId node;
    protocol::RankProgress said;
    std::int64_t moved_us = 0;  // when `said.step` last changed
  };
  // What the log has of a node.
  struct Logged {
    std::int64_t step = 0;
    std::int64_t busy_us = 0;
    std::int64_t at_us = 0;
    int slow = 0;  // slow reports in a row
  };
  struct OfNode {
    std::set<Rank> ranks;
    core::NodePace pace;
    std::optional<Logged> logged;
  };
  struct Progress {
    AttemptNumber attempt = 0;
    std::map<Rank, Ranked> ranks;  // at least one
    std::map<NodeId, OfNode> nodes;
    bool is_hang_told = false;  // until a rank reports a step
    bool moves_again = false;   // a hang is over, and that is not told yet
  };

  static const std::pair<const Rank, Ranked>* awaited(const Progress& progress);
  static ProgressReported report_of(const Progress& progress, JobId job, NodeId node);
  static bool is_slow(const core::State& state, const Progress& progress,
                      const ProgressReported& now);
  static bool is_news(const core::State& state, const std::optional<Logged>& before,
                      const ProgressReported& now, bool slow, std::int64_t now_us);
  static std::optional<HangObserved> find_hang(const core::State& state, JobId job,
                                               const Progress& progress, std::int64_t now_us);

  std::map<JobId, Progress> jobs_;
};

}  // namespace dove::backends
