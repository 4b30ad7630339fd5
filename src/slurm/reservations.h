// Slurm's reservations, as `scontrol show reservation --oneliner` prints them.
//
// Only those count that hold whole nodes now: of a node that is reserved in part Slurm still gives
// the rest to placeholders, or refuses them. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "slurm/observed.h"

namespace dove::slurm {

// Sets NodeSeen::reserved. Lines that say nothing of whole nodes are passed over.
void note_reservations(std::string_view text, std::vector<NodeSeen>& nodes);

}  // namespace dove::slurm
