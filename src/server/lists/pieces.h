// Pieces: long reads, one piece in each turn of the loop.
//
// The loop's other work, above all agents' requests, waits for one piece at most, however many
// lists are read at once: the reads alternate. Owned by the Context, loop thread only; reads that
// are unfinished when it is destroyed are dropped.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "wire/loop.h"

namespace dove::server {

class Pieces {
 public:
  // Does a bounded part of its work; whether there is more. Must not throw.
  using Work = std::function<bool()>;

  explicit Pieces(wire::Loop& loop) : line_(std::make_shared<Line>(Line{loop, {}, false})) {}

  // Does the first piece now, and the others in later turns.
  void read(Work work);

 private:
  struct Line {
    wire::Loop& loop;
    std::deque<Work> waiting;
    bool goes_on;  // its next turn is on the way
  };
  static void next(const std::shared_ptr<Line>& line);

  std::shared_ptr<Line> line_;
};

}  // namespace dove::server
