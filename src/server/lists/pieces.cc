#include "server/lists/pieces.h"

#include <utility>

namespace dove::server {

void Pieces::read(Work work) {
  if (!work()) return;
  line_->waiting.push_back(std::move(work));
  if (!std::exchange(line_->goes_on, true)) next(line_);
}

void Pieces::next(const std::shared_ptr<Line>& line) {
  line->loop.post([weak = std::weak_ptr<Line>(line)] {
    const std::shared_ptr<Line> held = weak.lock();
    if (held == nullptr) return;
    Work work = std::move(held->waiting.front());
    held->waiting.pop_front();
    if (work()) held->waiting.push_back(std::move(work));
    held->goes_on = !held->waiting.empty();
    if (held->goes_on) next(held);
  });
}

}  // namespace dove::server
