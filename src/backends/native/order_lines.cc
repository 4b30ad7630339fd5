#include "backends/native/order_lines.h"

#include <algorithm>
#include <utility>

#include "backends/native/sync_plan.h"
#include "codec/words.h"
#include "core/place/reservation.h"
#include "core/state/books.h"
#include "core/state/executors/linux_user.h"
#include "core/state/executors/placeholders.h"
#include "protocol/orders.h"

namespace dove::backends {
namespace {

protocol::OrderKind kind_of(OrderKind kind) {
  switch (kind) {
    case OrderKind::kLaunch:
      return protocol::OrderKind::kLaunch;
    case OrderKind::kStart:
      return protocol::OrderKind::kStart;
    case OrderKind::kStop:
      return protocol::OrderKind::kStop;
    case OrderKind::kTest:
      return protocol::OrderKind::kTest;
    case OrderKind::kRemedy:
      return protocol::OrderKind::kRemedy;
  }
  return protocol::OrderKind::kStop;
}

bool wants_preflight(const core::State& state, const Pool* pool) {
  switch (pool == nullptr ? PoolSwitch::kCluster : pool->preflight) {
    case PoolSwitch::kCluster:
      break;
    case PoolSwitch::kOff:
      return false;
    case PoolSwitch::kOn:
      return true;
  }
  return state.settings.preflight;
}

std::vector<protocol::PeerNode> peers_of(const core::State& state, const Launch& launch) {
  std::vector<protocol::PeerNode> peers;
  peers.reserve(launch.placements.size());
  for (const Placement& placement : launch.placements) {
    protocol::PeerNode& peer = peers.emplace_back();
    if (const core::Node* node = state.find_node(placement.node); node != nullptr) {
      peer.name = node->name;
      peer.address = node->address;
      peer.preflight_port = node->preflight_port;
    }
    peer.node_rank = placement.node_rank;
    for (const TaskGrant& task : placement.tasks) peer.ranks.push_back(task.rank);
    peer.cores = static_cast<std::int32_t>(placement.cores.size());
    for (const DeviceGrant& grant : placement.devices) peer.devices.push_back(grant.device);
  }
  return peers;
}

// What tasks are told about their job.
void describe(const core::State& state, const core::Job* job, const JobSpec& spec, const Pool* pool,
              protocol::Launch& out) {
  static_cast<JobBrief&>(out) = static_cast<const JobBrief&>(spec);
  if (pool != nullptr) out.pool = pool->name;
  out.time_limit =
      job == nullptr ? core::time_limit_of(state, spec) : core::limit_of_attempt(state, *job);
  if (job != nullptr) {
    out.array = job->array;
    out.array_index = job->array_index;
  }
  out.cpus_per_task = std::max(1, spec.groups.front().per_task.cores);
  for (const TaskGroup& group : spec.groups) out.group_names.push_back(group.name);
}

// The placement as the ledger has it now, if an executor holds it: its cores may be others than at
// the launch (core/state/executors/given_cores.h).
std::optional<Placement> given_place(const core::State& state, const Order& order) {
  bool is_held = false;
  core::each_placeholder(
      state, order.job, order.attempt,
      [&](const core::PlaceholderKey& key, const auto&) { is_held |= key.node == order.node; });
  const core::PlacementRecord* record =
      is_held ? find_placement(state, order.job, order.attempt, order.node) : nullptr;
  return record == nullptr ? std::nullopt : std::optional<Placement>(*record->placement);
}

}  // namespace

const std::string& OrderLines::launch_text(const Order& order) {
  if (written_ == order.launch.get()) return text_;
  written_ = order.launch.get();
  const core::State& state = sources_.state;
  const JobSpec& spec = *order.spec;
  const Pool* pool = core::pool_of(state, spec);
  protocol::Launch launch;
  launch.restart_count = order.restart_count;
  launch.barrier = order.barrier;
  launch.preflight = wants_preflight(state, pool);
  launch.nodes = peers_of(state, *order.launch);
  describe(state, state.find_job(order.job), spec, pool, launch);
  launch.tasks = 0;
  for (const protocol::PeerNode& peer : launch.nodes) {
    launch.tasks += static_cast<std::int32_t>(peer.ranks.size());
  }
  const auto exec = sources_.execs.find(spec.exec_digest);
  launch.exec_blob = exec == sources_.execs.end() ? nullptr : exec->second;
  launch.run_as = pool == nullptr ? RunAs::kNode : pool->run_as;
  launch.linux_user = core::linux_user_of(state, spec.user, launch.run_as);
  launch.job_token = sources_.job_token(order.job, order.attempt);
  text_ = protocol::launch_text(launch);
  return text_;
}

std::string OrderLines::write(const Order& order) {
  protocol::Order line{order.seq,
                       order.epoch,
                       sources_.head_proof(order.epoch, order.seq),
                       kind_of(order.kind),
                       {order.job, order.attempt},
                       "",
                       0,
                       ""};
  if (order.kind == OrderKind::kStop) {
    line.reason = codec::word(order.reason);
    line.after_ms = sources_.stop_after_ms(order.job);
  } else if (order.kind == OrderKind::kStart) {
    line.placement = given_place(sources_.state, order);
  } else if (order.kind == OrderKind::kRemedy) {
    line.remedy = codec::word(order.remedy);
  } else if (order.kind == OrderKind::kLaunch) {
    const auto& placements = order.launch->placements;
    const auto here =
        std::find_if(placements.begin(), placements.end(),
                     [&](const Placement& placement) { return placement.node == order.node; });
    CHECK(here != placements.end(), "a launch order names a node of the launch");
    return protocol::launch_line(line, *here, launch_text(order));
  }
  return protocol::order_line(line);
}

}  // namespace dove::backends
