// Reservations that an executor keeps on its nodes: Slurm's own, as its adapter reports them.
//
// In the ledger each is a Reservation whose name begins with the executor's name, and nobody else
// changes it. Pure.
#pragma once

#include <string>

#include "core/state/state.h"

namespace dove::core {

// "slurm:maintenance", for "maintenance" of the executor "slurm".
std::string reservation_name(const std::string& executor, const std::string& name);

// The declared executor that keeps the reservation of that name; null: people do.
const Executor* keeper_of(const State& state, const std::string& reservation);

void drop_kept_reservations(State& state, const std::string& executor);

}  // namespace dove::core
