// ForwardClient: ports of this machine that lead into running tasks. Each connection to one of them
// is one to the task, on a WebSocket of its own.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/task_link.h"
#include "wire/loop.h"

namespace dove::cli {

// Where in a task connections end.
struct ForwardTarget {
  std::string job;
  std::string task;  // "": rank 0; "3"; "worker/1"
  std::uint16_t port = 0;
  std::string socket;  // with port 0

  std::string text() const;  // "port 8080", "socket app"
  std::string path(bool looks_only) const;
};

class ForwardClient {
 public:
  // `on_error`: why a connection to the task could not be made, or was broken.
  ForwardClient(wire::Loop& loop, const TaskLink& link, std::function<void(const Error&)> on_error);
  ~ForwardClient();
  ForwardClient(const ForwardClient&) = delete;
  ForwardClient& operator=(const ForwardClient&) = delete;

  // Asks whether the task can be connected to there. `done` is called once.
  void look(const ForwardTarget& target, std::function<void(Result<void>)> done);
  // Leads connections to `address`:`port` there; port 0: any that is free. The port. On loopback
  // only connections of this process's own user, and root's, are taken. Errors: address_in_use,
  // bad_address.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port,
                               const ForwardTarget& target);
  std::size_t connections() const { return connections_.size(); }

 private:
  struct Listener;
  class Connection;
  void accept(const Listener& listener);

  wire::Loop& loop_;
  const TaskLink link_;
  const std::function<void(const Error&)> on_error_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_ = 0;
};

}  // namespace dove::cli
