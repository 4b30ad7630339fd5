// Nodes: what there is, and taking them in and out of service.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_health.h"
#include "codec/words.h"
#include "core/state/executors/foreign.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/lists/list_text.h"
#include "server/lists/wanted_labels.h"
#include "server/node_maintenance.h"
#include "server/page.h"
#include "server/record_json.h"
#include "text/hostlist.h"
#include "views/node_view.h"
#include "views/state_words.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr int kNodesInPiece = 30;  // of a list, in one turn of the loop: about 2 ms

Json shown(Context& context, const core::Node& node) {
  Json out = views::node_json(context.state(), node);
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
  NodeDeclaration declared = (*node)->declared;
  declared.name = (*node)->name;
  declared.drained = drained;
  declared.drain_reason.clear();
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    if (drained) fields.text("reason", declared.drain_reason);
  });
  if (!read.ok()) return call->fail(read.error());
  submit_and_show(context, std::move(call), (*node)->name,
                  ObjectApplied{Declared(std::move(declared))});
}

struct NodeQuery {
  std::optional<Pool> pool;
  std::set<std::string> states;
  std::set<std::string> names;
  std::vector<std::string> features;  // it must have all of them
  WantedLabels labels = {};           // likewise
  bool removed = false;
  bool is_brief = false;
};

Result<NodeQuery> read_node_query(const Call& call, const core::State& state) {
  NodeQuery query;
  if (const std::string name = call.query_text("pool"); !name.empty()) {
    const auto pool = state.pools.find(name);
    if (pool == state.pools.end() || !may_see(state, call.caller, Declared(pool->second))) {
      return not_found("pool", name);
    }
    query.pool = pool->second;
  }
  for (std::string& word : split_list(call.query_text("state"))) {
    const auto states = views::node_states();
    if (std::ranges::find(states, word) == states.end()) {
      return invalid("bad_parameter",
                     fmt::format("there is no node state {}; states are {}", word.substr(0, 64),
                                 fmt::join(states, ", ")),
                     "state");
    }
    query.states.insert(std::move(word));
  }
  for (std::string& word : split_list(call.query_text("name"))) query.names.insert(word);
  query.features = split_list(call.query_text("feature"));
  TRY_ASSIGN(query.labels, read_wanted_labels(call));
  query.removed = call.query_flag("removed");
  query.is_brief = call.query_flag("brief");
  return query;
}

bool is_wanted(const core::Node& node, const NodeQuery& query) {
  if (node.removed && !query.removed) return false;
  if (query.pool.has_value() && !text::any_hostlist_holds(query.pool->nodes, node.name)) {
    return false;
  }
  if (!query.names.empty() && query.names.count(node.name) == 0) return false;
  if (!query.states.empty() && query.states.count(std::string(views::state_word(node))) == 0) {
    return false;
  }
  if (!has_labels(node.declared.labels, query.labels)) return false;
  return std::all_of(query.features.begin(), query.features.end(),
                     [&](const std::string& wanted) { return core::meets(node, wanted); });
}

// A page of nodes, put together in pieces.
struct NodePage {
  NodeQuery query;
  std::uint64_t behind;  // the last id that was looked at
  ListText list;
};

// A bounded part of the page; whether it goes on.
bool take_piece(Context& context, NodePage& page) {
  const auto& nodes = context.state().nodes;
  int looked = 0;
  while (page.behind < nodes.size()) {
    if (looked++ == kNodesInPiece) return true;
    const core::Node& node = nodes[NodeId(static_cast<std::uint32_t>(++page.behind))];
    if (!is_wanted(node, page.query)) continue;
    if (page.list.is_full()) {
      page.list.has_next();
      return false;
    }
    page.list.add(node.id.value, page.query.is_brief
                                     ? views::node_brief_json(context.state(), node,
                                                              context.nodes.use.devices_of(node))
                                     : shown(context, node));
  }
  return false;
}

}  // namespace

void list_nodes(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<std::int64_t> limit = call->query_number("limit", kPageUsual, 1, kPageMost);
  if (!limit.ok()) return call->fail(limit.error());
  const Result<std::int64_t> after = call->query_number("after", 0, 0, INT64_MAX);
  if (!after.ok()) return call->fail(after.error());
  Result<NodeQuery> query = read_node_query(*call, state);
  if (!query.ok()) return call->fail(query.error());
  auto page = std::make_shared<NodePage>(NodePage{.query = std::move(query).value(),
                                                  .behind = static_cast<std::uint64_t>(*after),
                                                  .list = ListText("nodes", state.head, *limit)});
  context.pieces.read([&context, call, page] {
    if (take_piece(context, *page)) return call->responder->peer_alive();
    call->responder->send(page->list.answer({{"troubles", context.desk.troubles()}}));
    return false;
  });
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
    return call->fail(Error{
        ErrorKind::kConflict, "node_connected",
        "the node's agent is connected; stop it first: removing a node says that its machine is "
        "gone and runs nothing. `dove node expel` cuts off an agent that cannot be trusted",
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
  std::string why;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    bool is_off = false;
    fields.boolean("is_off", is_off);
    if (!is_off) {
      fields.fail("is_off", "bad_value",
                  "is_off must be true: it says that somebody made sure that the machine is off, "
                  "or that nothing of its agent's tasks runs on it");
    }
    fields.text("why", why);
  });
  if (!read.ok()) return call->fail(read.error());
  submit_and_show(context, std::move(call), (*node)->name,
                  NodeDeclaredOff{(*node)->id, std::move(why)});
}

NodeRequest read_node_request(codec::JsonFields& fields) {
  NodeRequest request;
  const int action = fields.one_of("action", codec::node_actions().subspan(1));
  request.action = static_cast<NodeAction>(action + 1);
  if (action < 0) {
    fields.fail("action", "missing_field",
                "say what to do: drain, reboot, upgrade, upgrade_agent, resume or expel");
  }
  fields.boolean("now", request.now);
  fields.instant("by", request.by);
  fields.text("why", request.why);
  return request;
}

void ask_node(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  NodeRequest asked;
  const Result<void> read =
      call->read_body([&](codec::JsonFields& fields) { asked = read_node_request(fields); });
  if (!read.ok()) return call->fail(read.error());
  submit_and_show(
      context, std::move(call), (*node)->name,
      NodeActionRequested{(*node)->id, asked.action, asked.now, asked.by, std::move(asked.why)});
}

void report_finding(Context& context, CallPtr call) {
  const Result<const core::Node*> node = named_node(context, *call);
  if (!node.ok()) return call->fail(node.error());
  Finding finding;
  const Result<void> read = call->read_body(
      [&](codec::JsonFields& fields) { finding = codec::read_finding_fields(fields); });
  if (!read.ok()) return call->fail(read.error());
  submit_and_show(context, std::move(call), (*node)->name,
                  FindingReported{(*node)->id, std::move(finding)});
}

void drain_node(Context& context, CallPtr call) { set_drained(context, std::move(call), true); }
void undrain_node(Context& context, CallPtr call) { set_drained(context, std::move(call), false); }

}  // namespace dove::server
