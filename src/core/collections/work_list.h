// WorkList: the ids that a pass has to look at, smallest first, each once, however often it was
// added.
//
// Ids added in ascending order, as most are, are appended to a queue; the others go to a heap. An
// id added while the list is being processed is taken in its order among the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace dove::core {

template <class Id>
class WorkList {
 public:
  bool empty() const { return next_ == line_.size() && heap_.empty(); }
  void clear() {
    line_.clear();
    next_ = 0;
    heap_.clear();
  }

  void insert(Id id) {
    if (line_.empty() || line_.back() < id) {
      line_.push_back(id);
      return;
    }
    heap_.push_back(id);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  template <class Iterator>
  void insert(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) insert(*begin);
  }

  // Those that are taken next, unless others are added before: to read ahead by.
  std::span<const Id> soon() const { return std::span(line_).subspan(next_); }

  // REQUIRES: not empty.
  Id take_first() {
    const bool waits = next_ < line_.size();
    const bool by_line = waits && (heap_.empty() || !(heap_.front() < line_[next_]));
    const Id first = by_line ? line_[next_] : heap_.front();
    if (by_line && ++next_ == line_.size()) {
      line_.clear();
      next_ = 0;
    }
    while (!heap_.empty() && heap_.front() == first) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
    return first;
  }

 private:
  std::vector<Id> line_;
  std::size_t next_ = 0;  // in line_
  std::vector<Id> heap_;
};

}  // namespace dove::core
