// Lost and expelled nodes: what happens to the work that ran there.
//
// Pure; folded by apply_event and apply_decision.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// Nothing that our agent held there runs any more (decision 2). A node that was expelled is gone
// with that, unless an executor runs jobs there.
void lose_node(State& state, Node& node);

// What its agent may still run counts as running for as long as its tasks may be alive; then the
// node is lost. Once more of a node that is expelled: the wait begins anew.
void expel_node(State& state, Node& node);

// Whether the registration may make anything of a node of that name. `joins`: it spent a token to
// join with. The agent of an expelled node may have had a call under way.
bool may_register(const Node& node, const NodeRegistered& event, bool joins);

}  // namespace dove::core
