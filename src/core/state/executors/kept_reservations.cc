#include "core/state/executors/kept_reservations.h"

namespace dove::core {

std::string reservation_name(const std::string& executor, const std::string& name) {
  return executor + ":" + name;
}

const Executor* keeper_of(const State& state, const std::string& reservation) {
  const std::size_t colon = reservation.find(':');
  if (colon == std::string::npos) return nullptr;
  const auto executor = state.executors.find(reservation.substr(0, colon));
  return executor == state.executors.end() ? nullptr : &executor->second;
}

void drop_kept_reservations(State& state, const std::string& executor) {
  const std::string begin = reservation_name(executor, "");
  std::erase_if(state.reservations,
                [&](const auto& entry) { return entry.first.starts_with(begin); });
}

}  // namespace dove::core
