// RememberedEnds: how attempts ended that the controller has already had forgotten, from what
// remains of them on disk. A controller whose log was restored may not know these ends any more.
//
// Loop thread: it reads a few small files of the agent for each, so their number is bounded.
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
