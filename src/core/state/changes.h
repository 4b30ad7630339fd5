// Changes: what the fold has touched since the indexes over the State were last updated.
//
// A plain record: apply writes it, and one reader consumes it, which is the Scheduler of the State
// or the Explanations of a projection. It is written only while the State has a follower, so it
// does not grow in a State that nobody queries. A copy of a State has no follower. Neither has a
// State after a declaration, because the indexes are then rebuilt.
#pragma once

#include <vector>

#include "model/ids.h"

namespace dove::core {

class Changes {
 public:
  Changes() = default;
  Changes(const Changes&) {}
  Changes(Changes&&) noexcept = default;
  Changes& operator=(const Changes&) {
    stop();
    return *this;
  }
  Changes& operator=(Changes&&) noexcept = default;
  ~Changes() = default;

  // Whoever follows has looked at everything now.
  void follow() {
    stop();
    followed_ = true;
  }
  void stop() { *this = Changes(); }
  bool is_followed() const { return followed_; }

  void touch(JobId job) {
    if (followed_) jobs.push_back(job);
  }
  void touch(NodeId node) {  // whatever of it may have changed
    if (followed_) nodes.push_back(node);
  }
  // Nothing of it but what it has free, which is more, or less.
  void release(NodeId node) {
    if (followed_) nodes_released.push_back(node);
  }
  void allocate(NodeId node) {
    if (followed_) nodes_allocated.push_back(node);
  }
  void note_usage_fell() { usage_fell = followed_; }
  void note_declared() { stop(); }

  // In the order in which they were touched; repeats are kept.
  std::vector<JobId> jobs;
  std::vector<NodeId> nodes;
  std::vector<NodeId> nodes_released;
  std::vector<NodeId> nodes_allocated;
  bool usage_fell = false;

 private:
  bool followed_ = false;
};

}  // namespace dove::core
