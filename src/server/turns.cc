#include "server/turns.h"

#include <utility>

namespace dove::server {

void Turns::wait(Work work) {
  line_->waiting.push_back(std::move(work));
  serve(line_);
}

// A loop, not a recursion: work that is over at once gives its turn back while it is being called.
void Turns::serve(const std::shared_ptr<Line>& line) {
  if (line->serving) return;
  line->serving = true;
  while (!line->taken && !line->waiting.empty()) {
    const Work work = std::move(line->waiting.front());
    line->waiting.pop_front();
    line->taken = true;
    const std::weak_ptr<Line> weak = line;
    work(Turn(nullptr, [weak](void*) {
      const std::shared_ptr<Line> held = weak.lock();
      if (held == nullptr) return;
      held->taken = false;
      serve(held);
    }));
  }
  line->serving = false;
}

}  // namespace dove::server
