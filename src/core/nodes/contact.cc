#include "core/nodes/contact.h"

#include <algorithm>

#include "core/state/executors/foreign.h"

namespace dove::core {

Instant lost_at(const State& state, const Node& node) {
  if (node.removed) return kNever;
  const ClusterSettings& now = state.settings;
  // What the agent was told counts, and not a setting that was changed since: its shims end tasks
  // by the former.
  const bool told = node.agreed.fence.us > 0;
  const Span fence = told ? node.agreed.fence : now.fence;
  const Span silence = told ? node.agreed.disconnect_grace : now.disconnect_grace;
  const Span outage = told ? node.agreed.outage_grace : now.outage_grace;
  switch (node.contact) {
    // Nothing runs out while it is connected, and nothing is left once it is lost.
    case Contact::kConnected:
    case Contact::kLost:
      return kNever;
    case Contact::kBroken:
      return node.contact_since + fence + kFence_margin;
    case Contact::kSilent: {
      const Span grace = node.awaited ? std::max(silence, outage) : silence;
      return node.contact_since + grace + fence + kFence_margin;
    }
  }
  return kNever;
}

Comer comer(const Node& node, const NodeRegistered& event) {
  if (!has_agent(node) && !node.removed) {
    // An agent may come to it once nothing runs there that it would not know.
    return event.backend == node.backend || node.jobs.empty() ? Comer::kItself : Comer::kStranger;
  }
  // The fence has passed, or it was never here: no task of a former machine can be alive.
  if (node.removed || node.contact == Contact::kLost || node.boot_id.empty()) {
    return Comer::kItself;
  }
  // The machine of a node that a former version registered is not known until it comes once.
  const bool same_machine = node.machine_id.empty() || node.machine_id == event.machine_id;
  const bool same_key = node.agent_token_sha256 == event.agent_token_sha256;
  // The agent was restarted, or its connection was lost, on a machine that ran on. One that joins
  // anew with an empty directory knows nothing of tasks that run on there, and could not end them.
  const bool knows_tasks = same_key || event.former_boot_id == node.boot_id;
  if (node.boot_id == event.boot_id && same_machine && knows_tasks) return Comer::kItself;
  // A copy of the agent's directory has the key as well, so the machine and its former boot are
  // compared, too.
  const bool knows_life = node.machine_id.empty() || node.boot_id == event.former_boot_id;
  if (same_key && same_machine && knows_life) return Comer::kRebooted;
  // Where nothing runs, nothing can run twice.
  const bool is_free = node.contact != Contact::kConnected && node.jobs.empty();
  return is_free ? Comer::kItself : Comer::kStranger;
}

}  // namespace dove::core
