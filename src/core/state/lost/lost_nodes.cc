#include "core/state/lost/lost_nodes.h"

#include "core/state/boot/boots.h"
#include "core/state/executors/foreign.h"
#include "core/state/fold.h"
#include "core/state/restored/restored.h"

namespace dove::core {
namespace {

void drop_expelled(Node& node) {
  if (is_expelled(node) && node.jobs.empty()) node.removed = true;
}

}  // namespace

void lose_node(State& state, Node& node) {
  lose_placements(state, node);
  set_contact(state, node, Contact::kLost);
  drop_expelled(node);
  node_settled(state);
}

void expel_node(State& state, Node& node) {
  take_back_boot(state, node.name);
  // More than the log knows may run on a node that was not heard of since a start.
  const bool is_free = node.jobs.empty() && !node.awaited;
  if (is_free || node.contact == Contact::kLost) {
    set_contact(state, node, Contact::kLost);
    return drop_expelled(node);
  }
  // Its agent counts from the last answer that it had, and may not know that it was cut off: so
  // this is silence, also where its connection was broken before.
  set_contact(state, node, Contact::kSilent);
}

bool may_register(const Node& node, const NodeRegistered& event, bool joins) {
  return joins || !is_expelled(node) || event.backend != kNative_backend;
}

}  // namespace dove::core
