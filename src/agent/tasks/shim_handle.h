// ShimHandle: the agent's handle for one running dove-shim, whether it spawned the shim or found it
// again.
//
// The shim outlives the handle: destroying it changes nothing. The locks on its task's file show
// that a shim is alive, so the data directory must be on a local file system. Its pid comes from
// the same lock, so a reused pid is never mistaken for it. Not thread-safe; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "agent/tasks/shim_config.h"
#include "agent/tasks/shim_status.h"
#include "base/result.h"

namespace dove::agent {

struct ShimSpawnOptions {
  std::string shim_path;  // the dove-shim executable
  int channel_fd = -1;    // ShimChannel::fd(); -1: the files and pidfd() must do
};

class ShimHandle {
 public:
  // Makes the task's file (its directory exists) with the configuration and starts the shim.
  // Errors: kConflict when there is such a task already, kInvalid, kExhausted (disk, processes).
  static Result<ShimHandle> spawn(const ShimConfig& config, const std::string& path,
                                  const ShimSpawnOptions& options);

  struct Adopted;
  // After a restart: what the task's file says. Waits up to 2 s for a shim that is just starting.
  static Result<Adopted> adopt(const std::string& path);

  ShimHandle() = default;
  ShimHandle(ShimHandle&& other) noexcept;
  ShimHandle& operator=(ShimHandle&& other) noexcept;
  ~ShimHandle();

  pid_t pid() const { return pid_; }
  // Readable (poll) once the shim has exited. Owned by the handle.
  int pidfd() const { return pidfd_; }
  std::uint64_t tag() const { return tag_; }  // of its records
  const std::string& path() const { return path_; }

  // Each does nothing if the shim is over.
  void go();                // starts the held task
  void stop();              // SIGTERM, grace, SIGKILL to all of the task
  void kill();              // SIGKILL to all of the task
  void signal(int number);  // to the task's process group
  void end_input();         // see ShimConfig::holds_input

  // Waits until the shim has exited, at most so long; whether it has. Also collects it, so that
  // its process entry is freed: call it (with 0) once pidfd() is readable.
  bool reap(int timeout_ms);

 private:
  void send(int number, int value);

  pid_t pid_ = 0;
  int pidfd_ = -1;
  std::uint64_t tag_ = 0;
  std::string path_;
};

struct ShimHandle::Adopted {
  enum class State {
    kHeld,     // `handle`: prepared, waits for go()
    kRunning,  // `handle`
    kEnded,    // `status`
    kGone,     // the shim was killed, or never spawned: sweep what it left (process_sweep.h)
  };
  State state = State::kGone;
  ShimHandle handle;
  ShimStatus status;
};

}  // namespace dove::agent
