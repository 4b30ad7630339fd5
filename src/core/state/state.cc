#include "core/state/state.h"

#include "core/cycle/derived.h"

namespace dove::core {

void DerivedDeleter::operator()(Derived* derived) const { delete derived; }

State::State() {
  Pool pool;
  pool.name = "default";
  pool.nodes = {"*"};
  pool.is_default = true;
  pools.emplace(pool.name, pool);
  Queue queue;
  queue.name = "default";
  queues.emplace(queue.name, queue);
}

State::~State() = default;
State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;

State::State(const State& other)
    : now(other.now),
      head(other.head),
      epoch(other.epoch),
      next_job(other.next_job),
      jobs(other.jobs),
      nodes(other.nodes),
      settings(other.settings),
      pools(other.pools),
      queues(other.queues),
      user_limits(other.user_limits),
      users(other.users),
      projects(other.projects),
      reservations(other.reservations),
      node_declarations(other.node_declarations),
      join_tokens(other.join_tokens),
      usage_by_user(other.usage_by_user),
      usage_by_queue(other.usage_by_queue),
      usage_by_project(other.usage_by_project),
      asked_by_project(other.asked_by_project),
      past_by_user(other.past_by_user),
      past_by_queue(other.past_by_queue),
      counts_models(other.counts_models),
      promises(other.promises),
      hangs(other.hangs),
      turns(other.turns),
      usage(other.usage),
      accounts(other.accounts),
      settled(other.settled) {}

State& State::operator=(const State& other) {
  if (this != &other) *this = State(other);
  return *this;
}

const Job* State::find_job(JobId id) const {
  const auto at = jobs.find(id);
  return at == jobs.end() ? nullptr : &at->second;
}

const Node* State::find_node(NodeId id) const {
  return id.value == 0 || id.value > nodes.size() ? nullptr : &nodes[id.value - 1];
}

const Node* State::find_node(const std::string& name) const {
  for (const Node& node : nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

}  // namespace dove::core
