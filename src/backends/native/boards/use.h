// UseBoard: how much jobs use of what they hold, as their nodes report periodically.
//
// In memory only: after a restart it is collected anew, and there is no mean over a window until
// the window is full. At most kPoints_max points of each running job and node are kept, older ones
// merged; the series of the kEnded_max jobs that ended last are kept, too. A node's report concerns
// only jobs that it runs. Loop thread only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "backends/node_backend.h"
#include "core/state/state.h"
#include "model/event.h"
#include "protocol/reports.h"

namespace dove::backends {

class UseBoard {
 public:
  static constexpr std::size_t kPoints_max = 512;
  static constexpr std::size_t kEnded_max = 1000;  // 12 kB each at most
  // What was told so long ago says nothing of now, unless it is told seldom.
  static constexpr std::int64_t kFresh_us = 60'000'000;

  // What concerns an attempt that does not run there is dropped. `now_us` never goes back.
  void take(const core::State& state, NodeId node, const protocol::Use& said, std::int64_t now_us,
            Instant now);
  // A decision that was just folded: an attempt may be over with it.
  void decided(const Decision& decision);
  // The most of its nodes, by part. All but what people's connections say.
  JobUse use_of(const core::Job& job, Span window, std::int64_t now_us) const;
  // UseMeter::devices_of.
  std::map<std::int32_t, std::int32_t> devices_of(const core::Node& node,
                                                  std::int64_t now_us) const;
  // In at most kSteps_max steps. An ended job has that of its last attempt, without nodes.
  UseCourse course_of(const core::Job& job, std::int64_t now_us) const;

  static constexpr std::int64_t kSteps_max = 240;
  static constexpr std::int64_t kStep_min_us = 10'000'000;

 private:
  static constexpr std::size_t kParts = 3;  // GPU, GPU memory, CPU
  using Part = std::optional<std::int32_t>;
  struct Point {
    std::int64_t end_us = 0;
    std::int64_t span_us = 0;
    std::array<Part, kParts> parts;
  };
  struct OfNode {
    std::deque<Point> points;  // at least one
    bool in_use = false;
    std::int64_t app_told_us = 0;  // 0: never
    Instant last_input;
    std::map<std::int32_t, std::int32_t> devices;  // lately, by number
  };
  struct OfJob {
    AttemptNumber attempt = 0;
    Span ahead;  // how far Instants are before `now_us`, by the last word
    std::map<NodeId, OfNode> nodes;
  };

  struct Steps {
    std::int64_t begin_us = 0;  // of the first
    std::int64_t step_us = 0;
    std::size_t count = 0;
  };

  const OfJob* find(const core::Job& job) const;
  void keep_course(JobId job);
  static UseCourse course_of(const OfJob& of, std::int64_t now_us);
  // What the points say of each step.
  static std::vector<std::array<Part, kParts>> by_step(const std::deque<Point>& points,
                                                       const Steps& steps);
  static bool is_fresh(const Point& point, std::int64_t now_us) {
    return point.end_us + std::max(kFresh_us, 3 * point.span_us) >= now_us;
  }
  static void make_room(std::deque<Point>& points);
  static Part mean(const std::deque<Point>& points, std::size_t part, Span window);

  std::map<JobId, OfJob> jobs_;
  std::map<JobId, UseCourse> ended_;
  std::deque<JobId> ended_order_;  // those of ended_, the oldest first
};

}  // namespace dove::backends
