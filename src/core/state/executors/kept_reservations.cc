#include "core/state/executors/kept_reservations.h"

namespace dove::core {

std::string reservation_name(const std::string& executor, const std::string& name) {
  return executor + ":" + name;
}

const Executor* keeper_of(const State& state, const std::string& reservation) {
  // The name of an executor may have a colon, too.
  for (std::size_t at = reservation.find(':'); at != std::string::npos;
       at = reservation.find(':', at + 1)) {
    const auto executor = state.executors.find(reservation.substr(0, at));
    if (executor != state.executors.end()) return &executor->second;
  }
  return nullptr;
}

void drop_kept_reservations(State& state, const std::string& executor) {
  const std::string begin = reservation_name(executor, "");
  std::erase_if(state.reservations,
                [&](const auto& entry) { return entry.first.starts_with(begin); });
}

}  // namespace dove::core
