// What watches read from active attempts: how far they are, and what they use.
//
// Plain looks, taken anew each time. Loop thread only.
#pragma once

#include <vector>

#include "agent/attempts/attempts.h"
#include "agent/health/progress.h"
#include "agent/idle/use_watch.h"
#include "model/node.h"

namespace dove::agent {

// Attempts that have not ended.
std::vector<ProgressWatch::Attempt> watched_progress(const Attempts& attempts);
// Attempts that run and are not being stopped, for rules about idle sessions.
std::vector<UseWatch::Attempt> watched_use(const Attempts& attempts, const std::string& node,
                                           const Inventory& inventory);

}  // namespace dove::agent
