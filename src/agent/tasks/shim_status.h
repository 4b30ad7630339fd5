// ShimStatus: the state of a task as its shim reports it, and the channel on which the shim reports
// at once.
//
// The task's file is authoritative, and outlives the agent. The channel is a FIFO shared by all
// shims of an agent, so one descriptor reports all tasks. A shim has written how the task ended to
// the file before it sends its ended record. Records sent while no agent runs wait in the FIFO as
// long as a shim lives, or are lost, so adopt by the file. Loop thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shim/format.h"

namespace dove::agent {

struct ShimStatus {
  shim::ShimRecord record;  // of kind kEndedRecord
  std::string start_error;  // says what could not be done, if record.start_errno is not 0

  bool fenced() const { return (record.flags & shim::kFenced) != 0; }
  bool killed_by_agent() const { return (record.flags & shim::kKilledByAgent) != 0; }
  // The task's first process ran when the shim was told to stop, by whomever.
  bool stopped_running() const { return (record.flags & shim::kStoppedRunning) != 0; }
  // Whoever told it to was not its agent: a machine that goes down signals every process.
  bool stopped_by_others() const { return (record.flags & shim::kStoppedByOthers) != 0; }
  bool out_of_memory() const { return (record.flags & shim::kOutOfMemory) != 0; }
  // Processes that SIGKILL did not end in 30 s: the node is not clean, and its devices are in use.
  bool survivors() const { return (record.flags & shim::kSurvivors) != 0; }
};

// Nothing: the shim has not ended, or was killed before it could say (see ShimHandle::adopt).
// Errors (kCorrupt): the file is not one that a shim wrote into.
Result<std::optional<ShimStatus>> read_shim_status(const std::string& path);

// Whether the task's file says that it is the one of a task with another mark.
bool is_of_another(const std::string& path, const std::string& mark);

// How it was started; nothing if it was not.
Result<std::optional<shim::ShimRecord>> read_shim_started(const std::string& path);

// Whether it is prepared, and waits to be started.
Result<bool> read_shim_held(const std::string& path);

class ShimChannel {
 public:
  // Makes the FIFO at `path`, or takes up the one of a former life.
  static Result<ShimChannel> open(const std::string& path);
  ShimChannel(ShimChannel&& other) noexcept;
  ShimChannel& operator=(ShimChannel&& other) noexcept;
  ~ShimChannel();

  // Readable when there are records. Owned by the channel; also what shims inherit.
  int fd() const { return fd_; }
  // All records that have come, in order; empty when there is none. Never blocks. Match them by
  // ShimHandle::tag().
  std::vector<shim::ShimRecord> read();

 private:
  explicit ShimChannel(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace dove::agent
