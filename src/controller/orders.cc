#include "controller/orders.h"

#include <algorithm>

namespace dove::controller {
namespace {

using backends::Order;
using backends::OrderKind;
using core::PlacementStage;

class OrderList {
 public:
  explicit OrderList(const core::State& state) : state_(state) {}

  void launch(const core::Job& job, std::shared_ptr<const Launch> launch, NodeId node, Seq seq) {
    Order order = base(OrderKind::kLaunch, job.id, launch->attempt, node, seq);
    order.spec = job.spec;
    order.restart_count = static_cast<std::int32_t>(launch->attempt) - 1;
    order.launch = std::move(launch);
    order.barrier = has_barrier(job, order.attempt);
    orders.push_back(std::move(order));
  }
  void start(const core::Job& job, AttemptNumber attempt, NodeId node, Seq seq) {
    orders.push_back(base(OrderKind::kStart, job.id, attempt, node, seq));
  }
  void stop(const core::Job& job, AttemptNumber attempt, NodeId node, StopReason reason, Seq seq) {
    Order order = base(OrderKind::kStop, job.id, attempt, node, seq);
    order.reason = reason;
    orders.push_back(std::move(order));
  }
  // What the node's stage of life asks of its agent, if it was not answered.
  void maintain(const core::Node& node, Seq seq) {
    if (node.removed || node.answer != Answer::kAwaited) return;
    const bool test = node.life == LifeStage::kTest;
    const bool remedy = node.life == LifeStage::kRepair && node.remedy != Remedy::kReplace;
    if (!test && !remedy) return;
    Order order = base(test ? OrderKind::kTest : OrderKind::kRemedy, {}, 0, node.id, seq);
    order.remedy = node.remedy;
    orders.push_back(std::move(order));
  }

  std::vector<Order> orders;

 private:
  static bool has_barrier(const core::Job& job, AttemptNumber number) {
    return std::any_of(job.attempts.begin(), job.attempts.end(), [&](const core::Attempt& each) {
      return each.number == number && each.has_barrier();
    });
  }

  Order base(OrderKind kind, JobId job, AttemptNumber attempt, NodeId node, Seq seq) const {
    Order order;
    order.kind = kind;
    order.seq = seq;
    order.epoch = state_.epoch;
    order.job = job;
    order.attempt = attempt;
    order.node = node;
    return order;
  }

  const core::State& state_;
};

// The adapter of its executor hears of it by the answers to its own calls (core/executors/sync.h).
bool is_elsewhere(const core::Job& job) { return !job.spec->executor.empty(); }

// Null also of a job that gets no orders.
const core::Attempt* find_attempt(const core::State& state, JobId id, AttemptNumber number) {
  const core::Job* job = state.find_job(id);
  if (job == nullptr || is_elsewhere(*job)) return nullptr;
  for (const core::Attempt& attempt : job->attempts) {
    if (attempt.number == number) return &attempt;
  }
  return nullptr;
}

struct Carrier {
  const core::State& state;
  OrderList& list;
  Seq seq;

  void operator()(const Launch& decision) const {
    const core::Job* job = state.find_job(decision.job);
    if (job == nullptr || is_elsewhere(*job)) return;
    const auto shared = std::make_shared<const Launch>(decision);
    for (const Placement& placement : shared->placements) {
      list.launch(*job, shared, placement.node, seq);
    }
  }
  void operator()(const Start& decision) const {
    const core::Attempt* attempt = find_attempt(state, decision.job, decision.attempt);
    if (attempt == nullptr) return;
    for (const core::PlacementRecord& record : attempt->placements) {
      if (record.stage == PlacementStage::kEnded) continue;
      list.start(*state.find_job(decision.job), decision.attempt, record.placement->node, seq);
    }
  }
  void operator()(const Stop& decision) const {
    const core::Attempt* attempt = find_attempt(state, decision.job, decision.attempt);
    if (attempt == nullptr) return;
    for (const core::PlacementRecord& record : attempt->placements) {
      if (record.stage == PlacementStage::kEnded) continue;
      list.stop(*state.find_job(decision.job), decision.attempt, record.placement->node,
                decision.reason, seq);
    }
  }
  void operator()(const DeclareNodeLost&) const {}
  void operator()(const Requeue&) const {}
  void operator()(const EndJob&) const {}
  void operator()(const ForgetJob&) const {}
  void operator()(const Promise&) const {}
  void operator()(const Withdraw&) const {}
  void operator()(const MoveNode& decision) const {
    const core::Node* node = state.find_node(decision.node);
    if (node != nullptr && node->life == decision.to) list.maintain(*node, seq);
  }
};

bool start_was_decided(const core::Attempt& attempt) {
  switch (attempt.stage) {
    case Stage::kAllocated:
    case Stage::kPreparing:
    case Stage::kBarrier:
    case Stage::kStopping:
    case Stage::kEnded:
      return false;
    case Stage::kStarting:
    case Stage::kRunning:
      return true;
  }
  return false;
}

void add_outstanding(const core::State& state, const core::Job& job, std::optional<NodeId> node,
                     OrderList& list) {
  if (job.phase != JobPhase::kActive || job.attempts.empty() || is_elsewhere(job)) return;
  const core::Attempt& attempt = job.attempts.back();
  std::shared_ptr<const Launch> launch;
  for (const core::PlacementRecord& record : attempt.placements) {
    if (record.stage == PlacementStage::kEnded) continue;
    const NodeId here = record.placement->node;
    if (node.has_value() && here != *node) continue;
    if (attempt.stage == Stage::kStopping) {
      list.stop(job, attempt.number, here, attempt.stop_reason, state.head);
      continue;
    }
    if (record.stage == PlacementStage::kOrdered) {
      if (launch == nullptr) {
        auto whole = std::make_shared<Launch>();
        whole->job = job.id;
        whole->attempt = attempt.number;
        for (const auto& each : attempt.placements) whole->placements.push_back(each.placement);
        launch = std::move(whole);
      }
      list.launch(job, launch, here, state.head);
    }
    if (attempt.has_barrier() && record.stage != PlacementStage::kStarted &&
        start_was_decided(attempt)) {
      list.start(job, attempt.number, here, state.head);
    }
  }
}

}  // namespace

std::vector<Order> orders_of(const core::State& state, std::span<const Decision> decisions,
                             Seq first_seq) {
  OrderList list(state);
  std::uint64_t seq = first_seq.value;
  for (const Decision& decision : decisions) {
    std::visit(Carrier{state, list, Seq(seq)}, decision);
    ++seq;
  }
  return std::move(list.orders);
}

std::vector<Order> outstanding_orders(const core::State& state, std::optional<NodeId> node) {
  OrderList list(state);
  if (!node.has_value()) {
    for (const auto& [id, job] : state.jobs) add_outstanding(state, job, node, list);
    for (const core::Node& each : state.nodes) list.maintain(each, state.head);
    return std::move(list.orders);
  }
  const core::Node* found = state.find_node(*node);
  if (found == nullptr) return {};
  list.maintain(*found, state.head);
  for (const JobId id : found->jobs) {
    const core::Job* job = state.find_job(id);
    if (job != nullptr) add_outstanding(state, *job, node, list);
  }
  return std::move(list.orders);
}

}  // namespace dove::controller
