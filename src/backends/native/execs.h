// Execs: commands that people run in the world of running tasks (`dove exec`).
//
// The client's WebSocket says what to run; the command is written to the log, ordered from the
// task's node, whose agent opens a WebSocket of its own, and from then on what comes on one leaves
// on the other. How much is under way is for the two ends to bound (wire/web_socket/piece.h): a
// peer that does not is dropped. A command lives no longer than either connection. Loop thread
// only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backends/native/agent_sessions.h"
#include "backends/node_backend.h"
#include "controller/controller.h"
#include "core/state/state.h"
#include "listener/call.h"
#include "listener/projection.h"
#include "wire/web_socket/web_socket.h"

namespace dove::backends {

class Execs {
 public:
  using Commit =
      std::function<void(StampedEvent event, std::function<void(Result<controller::Committed>)>)>;
  static constexpr std::size_t kMost = 1000;

  Execs(wire::Loop& loop, const listener::Projection& projection, AgentSessions& sessions,
        Commit commit);
  ~Execs();

  // Answers `call`, whose caller may run commands in the job, with a WebSocket.
  void open(const CallPtr& call, JobId job);
  // The same with the agent's, to which `id` was ordered.
  void join(const CallPtr& call, const std::string& id);
  void close_all();
  std::size_t size() const { return execs_.size(); }

 private:
  struct Exec;
  struct Wanted;
  using Held = std::shared_ptr<Exec>;

  Result<Wanted> read_first(const core::Job& job, std::string_view text) const;
  void hear_first(const Held& exec, std::string_view text);
  void order(const Held& exec, const Wanted& wanted);
  void fail(const Held& exec, const Error& error);
  void end(const Held& exec, const std::string& why);

  wire::Loop& loop_;
  const listener::Projection& projection_;
  AgentSessions& sessions_;
  const Commit commit_;
  std::map<std::string, Held> execs_;  // by id
};

// The task that `text` names: "": rank 0; "3": of that rank; "worker/1": of that group's tasks the
// second. Error kNotFound "no_such_task" names what there is.
Result<Rank> find_task(const JobSpec& spec, const std::string& text);

}  // namespace dove::backends
