// What asking for a drain, a reboot or an upgrade of nodes would lead to.
#include "core/explain/maintenance_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json_fields.h"
#include "codec/words.h"
#include "server/context.h"
#include "server/node_maintenance.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kEach_max_s = 86'400;
constexpr std::size_t kNodesMax = 100'000;

// How long a node is away where nobody says otherwise: an agent is replaced, or a machine booted
// and tested.
std::int64_t usual_s(NodeAction action) { return action == NodeAction::kUpgradeAgent ? 30 : 600; }

Json instant(Instant at) { return at == kNever ? Json(nullptr) : Json(at.us); }

Json ids(const std::vector<JobId>& jobs) {
  Json out = Json::array();
  for (const JobId job : jobs) out.push_back(job.value);
  return out;
}

// All of them, unless some are named.
Result<std::vector<NodeId>> nodes_of(const core::State& state,
                                     const std::vector<std::string>& names) {
  std::vector<NodeId> nodes;
  for (const std::string& name : names) {
    const core::Node* node = state.find_node(name);
    if (node == nullptr) return not_found("node", name);
    nodes.push_back(node->id);
  }
  if (names.empty()) {
    for (const core::Node& node : state.nodes) {
      if (!node.removed) nodes.push_back(node.id);
    }
  }
  return nodes;
}

Result<core::MaintenanceRequest> read_wish(const core::State& state, const Call& call) {
  core::MaintenanceRequest wish;
  std::vector<std::string> names;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    wish.request = read_node_request(fields);
    const NodeAction action = wish.request.action;
    if (action == NodeAction::kResume || action == NodeAction::kExpel) {
      fields.fail("action", "bad_value", "there is no plan for what is done at once");
    }
    fields.texts("nodes", names, kNameRule, kNodesMax);
    std::int64_t each_s = usual_s(wish.request.action);
    fields.integer("each_s", each_s, 0, kEach_max_s);
    wish.each = seconds(each_s);
  }));
  TRY_ASSIGN(wish.nodes, nodes_of(state, names));
  return wish;
}

void answer_plan(Context& context, const CallPtr& call, wire::Pairs headers) {
  const core::State& state = context.state();
  Result<core::MaintenanceRequest> wish = read_wish(state, *call);
  if (!wish.ok()) return call->fail(wish.error());
  wish->at = context.desk.now();
  const core::MaintenancePlan plan =
      core::plan_maintenance(state, context.desk.controller.policies(), *wish);
  Json nodes = Json::array();
  for (const core::PlannedMaintenance& planned : plan.nodes) {
    nodes.push_back(Json{{"node", state.find_node(planned.node)->name},
                         {"from_us", instant(planned.from)},
                         {"idle_us", instant(planned.idle)},
                         {"back_us", instant(planned.back)},
                         {"go_on", ids(planned.go_on)},
                         {"may_end", ids(planned.end)},
                         {"checkpointed", ids(planned.saved)},
                         {"restarted", ids(planned.again)}});
  }
  const bool known = plan.done != kNever;
  call->reply(200,
              Json{{"action", std::string(codec::word(wish->request.action))},
                   {"at_us", wish->at.us},
                   {"done_us", instant(plan.done)},
                   {"expected_s", known ? Json((plan.done - wish->at).us / 1'000'000) : Json()},
                   {"each_s", wish->each.us / 1'000'000},
                   {"max_unavailable", state.settings.max_unavailable},
                   {"endless", ids(plan.endless)},
                   {"nodes", std::move(nodes)}},
              std::move(headers));
}

}  // namespace

void plan_maintenance(Context& context, CallPtr call) { answer_plan(context, call, {}); }

void plan_care(Context& context, CallPtr call) {
  answer_plan(context, call,
              {{"Deprecation", "@1795651200"},
               {"Link", "</v1/maintenance-plan>; rel=\"successor-version\""}});
}

}  // namespace dove::server
