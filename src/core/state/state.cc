#include "core/state/state.h"

namespace dove::core {

State::State() {
  // A cluster on which nothing is declared takes jobs: one pool of all nodes, one queue without
  // limits.
  Pool pool;
  pool.name = "default";
  pool.nodes = {"*"};
  pool.is_default = true;
  pools.emplace(pool.name, pool);
  Queue queue;
  queue.name = "default";
  queues.emplace(queue.name, queue);
}

State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

const Job* State::find_job(JobId id) const {
  const auto at = jobs.find(id);
  return at == jobs.end() ? nullptr : &at->second;
}

Job* State::find_job(JobId id) {
  const auto at = jobs.find(id);
  return at == jobs.end() ? nullptr : &at->second;
}

Node* State::find_node(NodeId id) { return nodes.holds(id) ? &nodes[id] : nullptr; }

const Node* State::find_node(NodeId id) const { return nodes.holds(id) ? &nodes[id] : nullptr; }

const Node* State::find_node(std::string_view name) const { return nodes.find(name); }

}  // namespace dove::core
