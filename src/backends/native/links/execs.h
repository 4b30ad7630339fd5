// Execs: commands that people run inside running tasks (`dove exec`).
//
// The client's WebSocket says what to run. The command is written to the log, then ordered from the
// task's node (task_links.h). A command lives no longer than its link. Loop thread only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "backends/native/links/task_links.h"
#include "controller/controller.h"
#include "listener/projection.h"
#include "protocol/control.h"

namespace dove::backends {

class Execs {
 public:
  using Commit =
      std::function<void(StampedEvent event, std::function<void(Result<controller::Committed>)>)>;
  static constexpr std::size_t kMost = 1000;

  Execs(const listener::Projection& projection, TaskLinks& links, Commit commit);

  // Answers `call`, whose caller may run commands in the job, with a WebSocket.
  void open(const CallPtr& call, JobId job);

 private:
  void hear_first(const TaskLinkPtr& link, std::string_view text);
  void order(const TaskLinkPtr& link, NodeId node, protocol::ExecOrder order);

  const listener::Projection& projection_;
  TaskLinks& links_;
  const Commit commit_;
};

}  // namespace dove::backends
