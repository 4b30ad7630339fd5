// What asking for a drain, a reboot or an upgrade of nodes would lead to.
#include "core/explain/care_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/words.h"
#include "server/context.h"
#include "server/node_care.h"
#include "telemetry/clock.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kEach_max_s = 86'400;

// How long a node is away where nobody says otherwise: an agent is replaced, or a machine booted
// and tested.
std::int64_t usual_s(NodeAction action) { return action == NodeAction::kUpgradeAgent ? 30 : 600; }

Json instant(Instant at) { return at == kNever ? Json(nullptr) : Json(at.us); }

Json ids(const std::vector<JobId>& jobs) {
  Json out = Json::array();
  for (const JobId job : jobs) out.push_back(job.value);
  return out;
}

Result<std::vector<NodeId>> read_nodes(const core::State& state, const Json& body) {
  std::vector<NodeId> nodes;
  const Json names = body.value("nodes", Json::array());
  if (!names.is_array()) return invalid("bad_value", "nodes is a list of names", "nodes");
  for (const Json& name : names) {
    if (!name.is_string()) return invalid("bad_value", "nodes is a list of names", "nodes");
    const core::Node* node = state.find_node(name.get<std::string>());
    if (node == nullptr) return not_found("node", name.get<std::string>());
    nodes.push_back(node->id);
  }
  if (names.empty()) {
    for (const core::Node& node : state.nodes) {
      if (!node.removed) nodes.push_back(node.id);
    }
  }
  return nodes;
}

Result<core::CareWish> read_wish(const core::State& state, const Json& body) {
  core::CareWish wish;
  TRY_ASSIGN(wish.request, read_node_request(body));
  if (wish.request.action == NodeAction::kResume) {
    return invalid("bad_value", "there is no plan for resume: it is done at once", "action");
  }
  TRY_ASSIGN(wish.nodes, read_nodes(state, body));
  const Json each = body.value("each_s", Json(usual_s(wish.request.action)));
  if (!each.is_number_integer() || each < 0 || each > kEach_max_s) {
    return invalid("bad_value", fmt::format("each_s is 0 to {} seconds", kEach_max_s), "each_s");
  }
  wish.each = seconds(each.get<std::int64_t>());
  return wish;
}

}  // namespace

void plan_care(Context& context, CallPtr call) {
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  const core::State& state = context.state();
  Result<core::CareWish> wish = read_wish(state, *body);
  if (!wish.ok()) return call->fail(wish.error());
  wish->at = std::max(state.now, Instant{telemetry::now_us()});
  const core::CarePlan plan = core::plan_care(state, context.desk.controller.policies(), *wish);
  Json nodes = Json::array();
  for (const core::PlannedCare& care : plan.nodes) {
    nodes.push_back(Json{{"node", state.find_node(care.node)->name},
                         {"from_us", instant(care.from)},
                         {"idle_us", instant(care.idle)},
                         {"back_us", instant(care.back)},
                         {"go_on", ids(care.go_on)},
                         {"may_end", ids(care.end)},
                         {"checkpointed", ids(care.saved)},
                         {"restarted", ids(care.again)}});
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
                   {"nodes", std::move(nodes)}});
}

}  // namespace dove::server
