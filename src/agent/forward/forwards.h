// Forwards: the connections of `dove port-forward` to one attempt's tasks on this node.
//
// Each ends with its task, and none delays the attempt's end. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "agent/forward/forward_session.h"

namespace dove::agent {

class Forwards {
 public:
  static constexpr std::size_t kMost = 1024;

  explicit Forwards(ForwardHost host) : host_(std::move(host)) {}

  // Connects as the order says, or tells why there is nothing to connect to.
  void open(const ForwardOrder& order, Result<ForwardTarget> target);
  // Those to the task, or to all tasks.
  void end(Rank rank, const std::string& why);
  void end_all(const std::string& why);

 private:
  const ForwardHost host_;
  const std::shared_ptr<KnownPorts> known_ = std::make_shared<KnownPorts>();
  std::map<std::string, std::unique_ptr<ForwardSession>> sessions_;  // by id
};

}  // namespace dove::agent
