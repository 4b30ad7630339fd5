// The address at which the tasks of an order meet (model/rendezvous.h). In a step the variables
// fill gaps only, so what its script exported stays. Pure, any thread.
#pragma once

#include "agent/attempts/order.h"
#include "model/rendezvous.h"

namespace dove::agent {

Rendezvous rendezvous_of(const LaunchOrder& order);
// Ranks are those within the step.
Rendezvous rendezvous_of(const LaunchOrder& order, const StepOrder& step);

}  // namespace dove::agent
