#include "backends/native/native_backend.h"

#include <utility>

namespace dove::backends {

void NativeBackend::carry_out(std::vector<Order> orders) {
  const std::lock_guard lock(mutex_);
  if (sink_ && !orders.empty()) sink_(std::move(orders));
}

void NativeBackend::set_sink(Sink sink) {
  const std::lock_guard lock(mutex_);
  sink_ = std::move(sink);
}

}  // namespace dove::backends
