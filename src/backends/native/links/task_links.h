// TaskLinks: WebSockets of people into running tasks, each joined to one of the task's agent.
//
// The client's WebSocket is accepted, an order goes to the task's node, and its agent opens a
// WebSocket of its own. From then on each passes on what the other receives. The two ends bound how
// much is in flight (wire/web_socket/piece.h): a peer that does not is dropped. A link ends with
// either of its connections. Loop thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backends/native/agent_sessions.h"
#include "backends/node_backend.h"
#include "listener/call.h"
#include "listener/open_access.h"
#include "wire/web_socket/web_socket.h"

namespace dove::backends {

// What links are for.
constexpr const char kCommand[] = "command";
constexpr const char kConnection[] = "connection";

struct TaskLink {
  std::string id;    // that its agent is told, and nobody can guess
  std::string what;  // it is for, in messages: "command", "connection"
  JobId job;
  Cause cause;
  NodeId node;  // that its agent's connection comes from, once it was ordered
  std::unique_ptr<wire::WebSocket> client;
  std::unique_ptr<wire::WebSocket> agent;
  std::function<void(std::string_view)> on_first;  // of the client's texts, once; unset: none is
  wire::Timer timer;
  std::shared_ptr<const listener::OpenAccess::Held> access;  // of the client
};

using TaskLinkPtr = std::shared_ptr<TaskLink>;

class TaskLinks {
 public:
  // `now`: the cluster's time.
  TaskLinks(wire::Loop& loop, AgentSessions& sessions, listener::OpenAccess& access,
            std::function<Instant()> now)
      : loop_(loop), sessions_(sessions), access_(access), now_(std::move(now)) {}

  // Answers `call` with a WebSocket; nullptr: with an error. The client's first text goes to
  // `on_first`, if there is one, and has to come soon.
  using OnFirst = std::function<void(const TaskLinkPtr&, std::string_view)>;
  TaskLinkPtr open(const CallPtr& call, JobId job, std::string what, OnFirst on_first = {});
  // Has the agent of `node` open its end: `line` is the control line that names the link.
  void order(const TaskLinkPtr& link, NodeId node, std::string_view line);
  // Answers the agent's call with the other end of the link `id`.
  void join(const CallPtr& call, const std::string& id);
  // Tells the client why, and ends the link.
  void fail(const TaskLinkPtr& link, const Error& error);
  void close_all();
  // Those to that node: its agent is not to be trusted any more.
  void end_of(NodeId node);
  // Has the clients of the job's commands write a line on their terminals, if they have one.
  void tell(JobId job, const std::string& line);

  // When a client's bytes last came for a link of that kind to the job; 0: never.
  Instant last_input(JobId job, const std::string& what) const;
  void forget(JobId job);

  bool has(const TaskLinkPtr& link) const { return links_.count(link->id) != 0; }
  std::size_t count(const std::string& what) const;
  std::size_t count(JobId job, const std::string& what) const;

 private:
  void end(const TaskLinkPtr& link, const std::string& why);

  wire::Loop& loop_;
  AgentSessions& sessions_;
  listener::OpenAccess& access_;
  const std::function<Instant()> now_;
  std::map<std::string, TaskLinkPtr> links_;                 // by id
  std::map<std::pair<JobId, std::string>, Instant> inputs_;  // of jobs that are not forgotten
};

}  // namespace dove::backends
