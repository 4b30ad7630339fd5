// ForwardSession: one connection of `dove port-forward`, from the agent's WebSocket to the
// controller to the socket of the task.
//
// It lives no longer than its connection and its task. Words and pieces are those of
// api/agent-protocol.md (Forwards). Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/forward/task_port.h"
#include "agent/forward/task_socket.h"
#include "wire/loop.h"
#include "wire/web_socket/splice.h"
#include "wire/web_socket/web_socket.h"

namespace dove::agent {

struct ForwardHost {
  wire::Loop* loop = nullptr;  // nullptr: nothing can be connected to here
  // Opens the link's end at the controller.
  std::function<std::unique_ptr<wire::WebSocket>(const std::string& id, wire::WebSocketCallbacks)>
      dial = {};
  // Runs `work` on a side thread, then `done` on the loop; false: it took too long.
  std::function<void(std::function<void()> work, std::function<void(bool in_time)> done)> aside =
      {};
};

// Where an attempt's ports were found before: looked at again, which is quick, each time.
using KnownPorts = std::map<std::pair<Rank, std::int32_t>, TaskPort>;

struct ForwardTarget {
  std::vector<std::string> marks;  // of the task's processes
  TaskSockets sockets;
};

class ForwardSession {
 public:
  // `target`: or why there is none, to be told. `over` is called once, in a later turn; it may
  // destroy this.
  ForwardSession(const ForwardHost& host, ForwardOrder order, Result<ForwardTarget> target,
                 std::shared_ptr<KnownPorts> known, std::function<void()> over);
  ~ForwardSession();
  ForwardSession(const ForwardSession&) = delete;
  ForwardSession& operator=(const ForwardSession&) = delete;

  void begin();
  Rank rank() const { return order_.rank; }
  // Its task ended.
  void end(const std::string& why);

 private:
  void opened();
  void hear(std::string_view text);
  void look(std::optional<TaskPort> known);
  void found(Result<TaskPort> port);
  void connect_next();
  void connected(int fd);
  void confirm();
  void connect_socket();
  void splice();
  void break_off(const Error& error);
  void drop();

  const ForwardHost host_;
  const ForwardOrder order_;
  const Result<ForwardTarget> target_;
  const std::shared_ptr<KnownPorts> known_;
  std::function<void()> over_;
  std::unique_ptr<wire::WebSocket> socket_;  // nullptr: closed
  TaskPort port_;
  std::size_t tried_ = 0;  // of its addresses
  int fd_ = -1;            // until it is spliced
  wire::FdWatch connecting_;
  wire::Timer limit_;
  int busy_looks_ = 0;
  std::unique_ptr<wire::Splice> splice_;
  wire::Timer over_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // expires with this
};

}  // namespace dove::agent
