// NativeBackend hands orders to whoever holds the connections of Dovetail's own agents.
//
// It keeps nothing: what an agent misses is worked out again from the ledger when it syncs
// (controller/orders.h). carry_out() is called on the controller's thread and passes the orders to
// the sink, which posts them to its loop; before a sink is set, and after it was cleared, orders
// are dropped.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "backends/backend.h"

namespace dove::backends {

class NativeBackend : public Backend {
 public:
  using Sink = std::function<void(std::vector<Order>)>;

  void carry_out(std::vector<Order> orders) override;
  // Thread-safe. When this returns the former sink is not called any more.
  void set_sink(Sink sink);

 private:
  std::mutex mutex_;
  Sink sink_;
};

}  // namespace dove::backends
