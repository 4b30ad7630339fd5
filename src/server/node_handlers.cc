// Nodes: what there is, and taking them in and out of service.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "codec/json.h"
#include "codec/json_health.h"
#include "codec/words.h"
#include "server/access.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/node_care.h"
#include "server/page.h"
#include "server/record_json.h"
#include "text/hostlist.h"

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

struct NodeQuery {
  const Pool* pool = nullptr;
  std::set<std::string> states;
  std::set<std::string> names;
  std::vector<std::string> features;  // it must have all of them
  bool removed = false;
};

Result<NodeQuery> read_node_query(const Call& call, const core::State& state) {
  NodeQuery query;
  if (const std::string name = call.query_text("pool"); !name.empty()) {
    const auto pool = state.pools.find(name);
    if (pool == state.pools.end() || !may_see(state, call.caller, Declared(pool->second))) {
      return not_found("pool", name);
    }
    query.pool = &pool->second;
  }
  for (std::string& word : split_list(call.query_text("state"))) query.states.insert(word);
  for (std::string& word : split_list(call.query_text("name"))) query.names.insert(word);
  query.features = split_list(call.query_text("feature"));
  query.removed = call.query_flag("removed");
  return query;
}

bool is_wanted(const core::Node& node, const NodeQuery& query) {
  if (node.removed && !query.removed) return false;
  if (query.pool != nullptr && !text::any_hostlist_holds(query.pool->nodes, node.name)) {
    return false;
  }
  if (!query.names.empty() && query.names.count(node.name) == 0) return false;
  if (!query.states.empty() && query.states.count(std::string(codec::state_word(node))) == 0) {
    return false;
  }
  const std::vector<std::string>& has = node.declared.features;
  return std::all_of(query.features.begin(), query.features.end(), [&](const std::string& wanted) {
    return std::find(has.begin(), has.end(), wanted) != has.end();
  });
}

}  // namespace

void list_nodes(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<std::int64_t> limit = call->query_number("limit", kPageUsual, 1, kPageMost);
  if (!limit.ok()) return call->fail(limit.error());
  const Result<std::int64_t> after = call->query_number("after", 0, 0, INT64_MAX);
  if (!after.ok()) return call->fail(after.error());
  const Result<NodeQuery> query = read_node_query(*call, state);
  if (!query.ok()) return call->fail(query.error());
  Page<std::int64_t> page(*after, *limit);
  for (const core::Node& node : state.nodes) {
    if (!is_wanted(node, *query)) continue;
    if (!page.offer(node.id.value, [&] { return shown(context, node); })) break;
  }
  Json answer = page.answer("nodes", state.head);
  answer["troubles"] = context.desk.troubles();
  call->reply(200, answer);
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

// Nobody says this by mistake: what runs there is started elsewhere at once.
void declare_node_off(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  const Json off = body->value("is_off", Json());
  const Json why = body->value("why", Json(""));
  if (off != Json(true)) {
    return call->fail(invalid("bad_value",
                              "is_off is to be true: it says that somebody made sure that the "
                              "machine is off, or that nothing of its agent's tasks runs on it",
                              "is_off"));
  }
  if (!why.is_string() || why.get_ref<const std::string&>().size() > 1024) {
    return call->fail(invalid("bad_value", "why is a text of at most 1024 bytes", "why"));
  }
  submit_and_show(context, std::move(call), (*node)->name,
                  NodeDeclaredOff{(*node)->id, why.get<std::string>()});
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
