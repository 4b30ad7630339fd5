// RememberedEnds: how attempts ended that the controller has had forgotten, from what stays of them
// on disk. A controller whose log was restored may not know it any more.
//
// Loop thread: a few small files of the agent's own for each, so their number is bounded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "protocol/session.h"

namespace dove::agent {

// At most `most`, those in `directory` that changed last. What cannot be read is left out.
std::vector<protocol::ActivePlacement> remembered_ends(const std::string& directory,
                                                       std::size_t most);

}  // namespace dove::agent
