// NativeBackend: runs jobs on nodes with Dovetail's own agents (api/agent-protocol.md).
//
// It keeps no order: what an agent missed is computed from the ledger when it syncs
// (controller/orders.h). carry_out() is called on the controller's thread and passes the orders to
// the loop of its desk; before open() and after close() they are dropped. Everything else runs on
// the loop's thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/node_backend.h"

namespace dove::backends {

struct Agents;

class NativeBackend : public NodeBackend {
 public:
  NativeBackend();
  ~NativeBackend() override;

  void carry_out(std::vector<Order> orders) override;
  NodeAccess open(listener::Desk& desk) override;
  void add_routes(std::vector<listener::Route>& routes) override;
  void end_streams() override;
  void close() override;

 private:
  class Work;
  class Notes;
  class Meter;

  std::mutex mutex_;                // guards desk_
  listener::Desk* desk_ = nullptr;  // null: orders are dropped
  std::shared_ptr<Agents> agents_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Notes> notes_;
  std::unique_ptr<Meter> meter_;
};

}  // namespace dove::backends
