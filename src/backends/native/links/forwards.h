// Forwards: connections of people to ports and sockets of running tasks (`dove port-forward`).
//
// One WebSocket is one connection. The request names the task and its port. The agent of the task's
// node checks whether the task itself listens there, and connects (task_links.h). Their number is
// bounded, for each job and for all. Loop thread only.
#pragma once

#include "backends/native/links/task_links.h"
#include "listener/projection.h"

namespace dove::backends {

class Forwards {
 public:
  static constexpr std::size_t kMost = 2000;
  static constexpr std::size_t kMostOfJob = 256;

  Forwards(const listener::Projection& projection, TaskLinks& links)
      : projection_(projection), links_(links) {}

  // Answers `call`, whose caller may connect to the job's tasks, with a WebSocket.
  void open(const CallPtr& call, JobId job, const ForwardRequest& wanted);

 private:
  const listener::Projection& projection_;
  TaskLinks& links_;
};

}  // namespace dove::backends
