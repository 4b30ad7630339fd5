// Turns: work that is done one at a time, in the order of its arrival.
//
// A call that reads an object, changes it and writes it back would otherwise undo another call's
// change between its reading and its commit. Owned by the Context, loop thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>

namespace dove::server {

class Turns {
 public:
  // A turn lasts until the last copy is gone.
  using Turn = std::shared_ptr<void>;
  using Work = std::function<void(Turn)>;

  // Calls `work` now, or when those before have had their turn. `work` must not throw.
  void wait(Work work);
  // Nobody has a turn or waits for one.
  bool idle() const { return !line_->taken && !line_->serving && line_->waiting.empty(); }

 private:
  struct Line {
    std::deque<Work> waiting;
    bool taken = false;
    bool serving = false;
  };
  static void serve(const std::shared_ptr<Line>& line);

  // A turn may outlive this object; what waits does not.
  std::shared_ptr<Line> line_ = std::make_shared<Line>();
};

}  // namespace dove::server
