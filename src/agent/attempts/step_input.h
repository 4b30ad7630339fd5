// StepInput: the standard input of a step's tasks on this node, from the controller into one FIFO
// per task.
//
// One piece at a time: the next is fetched when every task has room for all of the present one. A
// failed fetch is repeated, because the step outlives its controller. Until the end of the input
// was passed on, the shims keep the FIFOs open too, so that tasks never mistake the end of this
// agent for the end of the input. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "wire/loop.h"

namespace dove::agent {

class StepInput {
 public:
  struct Piece {
    enum class Kind { kBytes, kNothingYet, kEnd, kFailed };
    Kind kind = Kind::kFailed;
    std::string bytes;
  };
  // Asks for what stands at `offset`; `done` in a later turn.
  using Fetch = std::function<void(std::int64_t offset, std::function<void(Piece)> done)>;

  // Before begin() a task is added for each FIFO. `on_end`: all has been passed on.
  StepInput(wire::Loop& loop, Fetch fetch, std::function<void()> on_end);
  // The FIFOs stay, so that a later agent sees that their input did not end.
  ~StepInput();
  StepInput(const StepInput&) = delete;
  StepInput& operator=(const StepInput&) = delete;

  // Makes the FIFO, readable by `linux_user` ("": the agent's own), and holds it open.
  Result<void> add(Rank rank, const std::string& path, const std::string& linux_user);
  void begin();
  // Its task is over.
  void drop(Rank rank);

 private:
  struct Sink {
    int fd = -1;
    std::string path;
    std::size_t written = 0;  // of piece_
  };
  void close(Sink& sink);
  void fetch();
  void take(Piece piece);
  void write();

  wire::Loop& loop_;
  Fetch fetch_;
  std::function<void()> on_end_;
  std::map<Rank, Sink> sinks_;
  std::string piece_;
  std::int64_t offset_ = 0;  // of piece_
  int wait_ms_ = 1;
  bool over_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  wire::Timer timer_;
};

}  // namespace dove::agent
