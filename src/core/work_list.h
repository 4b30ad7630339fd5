// WorkList: ids that a pass is to look at, smallest first, each once however often it was noted.
//
// A heap in one block of memory: to note ids in ascending order costs next to nothing. What is
// noted while the list is worked off takes its turn among the rest.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace dove::core {

template <class Id>
class WorkList {
 public:
  bool empty() const { return heap_.empty(); }
  void clear() { heap_.clear(); }

  void insert(Id id) {
    heap_.push_back(id);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  template <class Iterator>
  void insert(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) insert(*begin);
  }

  // REQUIRES: not empty.
  Id take_first() {
    const Id first = heap_.front();
    while (!heap_.empty() && heap_.front() == first) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
    return first;
  }

 private:
  std::vector<Id> heap_;
};

}  // namespace dove::core
