// Nodes: what there is, and taking them in and out of service.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_health.h"
#include "codec/words.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/node_care.h"
#include "server/record_json.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

Json shown(Context& context, const core::Node& node) {
  Json out = codec::node_json(context.state(), node);
  hide_digests(out);
  context.nodes.observed.show_node(node.id, out);
  return out;
}

Result<const core::Node*> named_node(const Context& context, const Call& call) {
  const core::Node* node = context.state().find_node(call.parameters[0]);
  if (node == nullptr) return not_found("node", call.parameters[0]);
  return node;
}

void submit_and_show(Context& context, CallPtr call, const std::string& name, Event event) {
  const Call& asked = *call;
  context.desk.submit(asked, std::move(event),
                      [&context, call, name](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(200, shown(context, *context.state().find_node(name)));
                      });
}

void set_drained(Context& context, CallPtr call, bool drained) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  const Json reason = body->value("reason", Json(""));
  if (!reason.is_string() || reason.get_ref<const std::string&>().size() > 1024) {
    return call->fail(invalid("bad_value", "reason is a text of at most 1024 bytes", "reason"));
  }
  NodeDeclaration declared = (*node)->declared;
  declared.name = (*node)->name;
  declared.drained = drained;
  declared.drain_reason = drained ? reason.get<std::string>() : "";
  submit_and_show(context, std::move(call), (*node)->name,
                  ObjectApplied{Declared(std::move(declared))});
}

}  // namespace

void list_nodes(Context& context, CallPtr call) {
  Json nodes = Json::array();
  const std::string pool = call->query_text("pool");
  for (const core::Node& node : context.state().nodes) {
    if (node.removed && !call->query_flag("removed")) continue;
    Json object = shown(context, node);
    if (!pool.empty()) {
      const Json pools = object.value("pools", Json::array());
      if (std::find(pools.begin(), pools.end(), Json(pool)) == pools.end()) continue;
    }
    nodes.push_back(std::move(object));
  }
  call->reply(200, Json{{"nodes", std::move(nodes)},
                        {"troubles", context.desk.troubles()},
                        {"log_head", context.state().head.value}});
}

void get_node(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  call->reply(200, shown(context, **node));
}

void remove_node(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  if (context.nodes.work.reaches((*node)->id)) {
    return call->fail(Error{ErrorKind::kConflict, "node_connected",
                            "the node's agent is connected; stop it first: removing says that the "
                            "machine is gone and runs nothing",
                            ""});
  }
  const Call& asked = *call;
  context.desk.submit(asked, NodeRemoved{(*node)->id}, [call](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->responder->send(wire::Response{204, {}, ""});
  });
}

Result<NodeRequest> read_node_request(const Json& body) {
  const auto words = codec::node_actions();
  const Json action = body.value("action", Json());
  const auto at = action.is_string()
                      ? std::find(words.begin() + 1, words.end(), action.get<std::string>())
                      : words.end();
  const Json now = body.value("now", Json(false));
  const Json by = body.value("by_us", Json(0));
  const Json why = body.value("why", Json(""));
  if (at == words.end()) {
    return invalid("bad_value", "action is drain, reboot, upgrade, upgrade_agent or resume",
                   "action");
  }
  if (!now.is_boolean()) return invalid("bad_value", "now is true or false", "now");
  if (!by.is_number_integer() || by.get<std::int64_t>() < 0) {
    return invalid("bad_value", "by_us is an instant in microseconds", "by_us");
  }
  if (!why.is_string() || why.get_ref<const std::string&>().size() > 1024) {
    return invalid("bad_value", "why is a text of at most 1024 bytes", "why");
  }
  return NodeRequest{static_cast<NodeAction>(at - words.begin()), now.get<bool>(),
                     Instant{by.get<std::int64_t>()}, why.get<std::string>(), ""};
}

void ask_node(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  Result<NodeRequest> asked = read_node_request(*body);
  if (!asked.ok()) return call->fail(asked.error());
  submit_and_show(context, std::move(call), (*node)->name,
                  NodeActionRequested{(*node)->id, asked->action, asked->now, asked->by,
                                      std::move(asked->why)});
}

void report_finding(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  Result<Finding> finding = codec::read_finding(*body);
  if (!finding.ok()) return call->fail(finding.error());
  submit_and_show(context, std::move(call), (*node)->name,
                  FindingReported{(*node)->id, std::move(finding).value()});
}

void drain_node(Context& context, CallPtr call) { set_drained(context, std::move(call), true); }
void undrain_node(Context& context, CallPtr call) { set_drained(context, std::move(call), false); }

}  // namespace dove::server
