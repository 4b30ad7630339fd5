// The controller's side of api/agent-protocol.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "backends/native/agents.h"
#include "backends/native/claims.h"
#include "backends/native/given_secrets.h"
#include "backends/native/node_keys.h"
#include "backends/native/node_offers.h"
#include "backends/native/report_events.h"
#include "backends/native/restored_work.h"
#include "backends/native/sync_plan.h"
#include "codec/json.h"
#include "controller/orders.h"
#include "core/admit/admit.h"
#include "protocol/control.h"
#include "protocol/orders.h"
#include "protocol/session.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;
using controller::Committed;
using listener::Call;
using AgentRoute = listener::RouteOf<Agents>;

constexpr int kDifferingMax = 3;

// What comes is JSON that `read` makes a message of.
template <class Message>
Result<Message> message_of(const Call& call, Result<Message> (*read)(const Json&)) {
  TRY_ASSIGN(const Json body, call.json_body());
  return read(body);
}

void reply_text(const Call& call, int status, std::string body) {
  call.responder->send(
      wire::Response{status, {{"Content-Type", "application/json"}}, std::move(body)});
}

protocol::SyncAnswer sync_answer(Agents& agents, AgentSession& session,
                                 const protocol::Sync& message, listener::Blobs::Found execs) {
  const core::State& state = agents.state();
  protocol::SyncAnswer answer;
  answer.session = session.id;
  answer.epoch = state.epoch.value;
  answer.log_head = answer.after = state.head.value;
  answer.proof = agents.head_proof(state.epoch, state.head);
  answer.fence_us = state.settings.fence.us;
  answer.disconnect_grace_us = state.settings.disconnect_grace.us;
  answer.outage_grace_us = state.settings.outage_grace.us;
  answer.heartbeat_us = agents.desk.options.heartbeat_us;
  answer.cluster = state.settings.name;
  answer.cluster_id = agents.desk.identity.cluster_id();
  OrderLines lines(agents.order_sources(std::move(execs)));
  for (const Order& order : controller::outstanding_orders(state, session.node)) {
    if (agents.can_take(session, order)) answer.orders.push_back(lines.write(order));
  }
  Leftovers left = leftovers(state, session.node, message);
  for (const AttemptKey key : left.stop) {
    answer.orders.push_back(
        protocol::order_line({state.head, state.epoch, "", protocol::OrderKind::kStop, key,
                              "unknown_to_ledger", 0, ""}));
  }
  answer.forget = std::move(left.forget);
  answer.expelled = agents.expelled_nodes();
  session.kept = std::move(left.kept);
  return answer;
}

// A sync tells what the agent holds now; one that was long under way would end work that began
// since. So only that counts which was made after the last ticket was given.
bool is_fresh(Agents& agents, NodeId node, const std::string& ticket) {
  const auto given = agents.sync_tickets.find(node);
  if (given == agents.sync_tickets.end() || given->second != ticket) return false;
  agents.sync_tickets.erase(given);
  return true;
}

Error session_over() {
  return Error{ErrorKind::kConflict, "session_over",
               "another session of this node has begun, or this one was silent for too long; sync "
               "again",
               ""};
}

// Whether what the agent holds has been other than the ledger says for some heartbeats on end,
// without an order under way that would explain it.
bool stays_different(Agents& agents, AgentSession& session,
                     const protocol::ReportMessage& message) {
  const core::Node* node = agents.state().find_node(session.node);
  if (wants_resync(agents.state(), *node, /*something_ended=*/false, !session.kept.empty())) {
    return true;
  }
  const std::uint64_t hash = placements_hash(agents.state(), *node, session.kept);
  const bool same = fmt::format("{:016x}", hash) == message.placements_hash;
  if (same || message.applied < session.last_order.value) {
    session.differing = 0;
    return false;
  }
  if (++session.differing < kDifferingMax) return false;
  session.differing = 0;
  telemetry::log(telemetry::Level::kWarning, "resync_asked", {{"node", node->name}});
  return true;
}

void answer_report(Agents& agents, const Call& call, std::uint64_t number, bool resync) {
  const core::State& state = agents.state();
  reply_text(call, 200,
             protocol::report_answer_text({number, state.head.value, state.epoch.value,
                                           agents.head_proof(state.epoch, state.head),
                                           agents.desk.now().us, resync}));
}

// The part of a report that is needed when it is durable.
struct Reported {
  std::string session;
  std::uint64_t number = 0;
  std::vector<AttemptKey> ended;
};

void report_committed(Agents& agents, const Call& call, const Reported& reported,
                      const Result<Committed>& committed) {
  AgentSession* session = agents.sessions.find(call.caller.node, reported.session);
  if (session != nullptr) {
    --session->reports_in_progress;
    agents.sessions.heard(*session);
  }
  if (!committed.ok()) return call.fail_agent(committed.error());
  const core::Node& node = *agents.state().find_node(call.caller.node);
  answer_report(agents, call, reported.number,
                wants_resync(agents.state(), node, !reported.ended.empty(), false));
  protocol::Control control;
  for (const AttemptKey key : reported.ended) {
    const core::PlacementRecord* record =
        find_placement(agents.state(), key.job, key.attempt, call.caller.node);
    if (record != nullptr && record->stage != core::PlacementStage::kEnded) continue;
    control.forget.push_back(key);
  }
  if (session != nullptr && !control.forget.empty()) {
    agents.sessions.send(call.caller.node, protocol::control_line(control));
  }
}

// Says so where people look for the node; other errors are not about who somebody is.
void not_admitted(Agents& agents, const core::Node& node, const std::string& address,
                  const Error& why) {
  if (why.kind != ErrorKind::kConflict) return;
  agents.refusals.refused(node.id, node.name, address, why, agents.desk.loop.monotonic_us());
}

void finish_join(Agents& agents, CallPtr call, const protocol::Join& join,
                 const std::string& digest) {
  const std::string agent_token = new_agent_token(agents, join.key);
  const std::string& name = join.name;
  const protocol::Machine& machine = join.machine;
  const Inventory inventory = as_kept(agents.state(), machine.inventory);
  StampedEvent event{
      NodeRegistered{name, machine.boot_id, "native", machine.address,
                     wire::sha256_hex(agent_token), std::make_shared<const Inventory>(inventory),
                     machine.machine_id, machine.former_boot_id},
      {}};
  event.cause.principal = "agent:" + name;
  event.cause.body_sha256 = digest;
  controller::Input input;
  input.events.push_back(std::move(event));
  agents.joining.insert(digest);
  agents.desk.submit(
      std::move(input), [&agents, call, name, digest, agent_token,
                         address = machine.address](const Result<Committed>& committed) {
        agents.joining.erase(digest);
        const core::Node* node = agents.state().find_node(name);
        if (!committed.ok()) {
          if (node != nullptr) not_admitted(agents, *node, address, committed.error());
          return call->fail_agent(committed.error());
        }
        reply_text(*call, 201,
                   protocol::join_answer_text({node == nullptr ? NodeId() : node->id, agent_token,
                                               agents.state().settings.name}));
      });
}

Error exists_elsewhere(const std::string& name) {
  return Error{ErrorKind::kConflict, "node_exists_elsewhere",
               fmt::format("an agent named {0} is connected, and its work goes on there. Stop that "
                           "one; or stop this one, empty its data directory, and let it join under "
                           "a name of its own (`dove join-token create NAME`)",
                           name),
               "name"};
}

// Asked again when it is in the log's turn; here, so that a stranger ends no session. A machine
// that was booted anew may have to wait until its former session is known to be silent: a copy of
// all that it is would say the same.
Result<void> may_sync(Agents& agents, const core::Node& node, const protocol::Machine& machine) {
  const bool is_there = agents.sessions.find(node.id) != nullptr;
  if (is_there && machine.boot_id != node.boot_id) return exists_elsewhere(node.name);
  static const core::Policies none;
  return core::admit(agents.state(), none, registration(node, machine));
}

void join_agent(Agents& agents, CallPtr call) {
  Result<std::string> digest = listener::Identity::token_digest(call->request);
  if (!digest.ok()) return call->fail(digest.error());
  const Result<protocol::Join> join = message_of(*call, protocol::read_join);
  if (!join.ok()) return call->fail(join.error());
  const std::string& name = join->name;
  if (!listener::is_name(name)) {
    return call->fail(listener::invalid(
        "bad_name", "a node's name is letters, digits and _.-, at most 64", "name"));
  }
  const core::State& state = agents.state();
  // No reason to stop: whoever gave out the join token may mean this to be a fresh cluster.
  if (auto lost = behind(agents, name, join->machine)) {
    lost->message += "; for a fresh cluster, give the agent a fresh data directory";
    return call->fail(*lost);
  }
  const auto token = state.join_tokens.find(*digest);
  if (token == state.join_tokens.end() || agents.joining.count(*digest) != 0 ||
      token->second.expires_at <= agents.desk.now() ||
      (!token->second.node_name.empty() && token->second.node_name != name)) {
    return call->fail(listener::join_token_invalid());
  }
  const core::Node* known = state.find_node(name);
  if (known != nullptr && agents.sessions.find(known->id) != nullptr) {
    const Error error = exists_elsewhere(name);
    not_admitted(agents, *known, join->machine.address, error);
    return call->fail(error);
  }
  finish_join(agents, std::move(call), *join, *digest);
}

// What is to be launched there is read first; meanwhile more may have been decided.
void begin_session(Agents& agents, const CallPtr& call,
                   const std::shared_ptr<const protocol::Sync>& message) {
  const auto programs = [&agents, node = call->caller.node] {
    return programs_of(controller::outstanding_orders(agents.state(), node));
  };
  agents.desk.blobs.fetch(programs(), listener::Blobs::kForever,
                          [&agents, call, message, programs](Result<listener::Blobs::Found> execs) {
                            if (agents.desk.stopping()) return;
                            if (!agents.desk.blobs.has_all(programs(), *execs)) {
                              return begin_session(agents, call, message);
                            }
                            // It may have been expelled meanwhile.
                            const auto may =
                                listener::may_speak(*agents.state().find_node(call->caller.node));
                            if (!may.ok()) return call->fail(may.error());
                            agents.refusals.admitted(call->caller.node, message->machine.address);
                            AgentSession& session = agents.sessions.begin(call->caller.node);
                            session.version = message->machine.version;
                            session.agent_pid = message->agent_pid;
                            session.not_enforced = message->not_enforced;
                            session.offer = offer_of(message->offer);
                            agents.steps.node_back(call->caller.node);
                            agents.steps.found(call->caller.node, message->steps);
                            reply_text(*call, 200,
                                       protocol::sync_answer_text(sync_answer(
                                           agents, session, *message, std::move(execs).value())));
                          });
}

void synced(Agents& agents, const CallPtr& call,
            const std::shared_ptr<const protocol::Sync>& message,
            const Result<Committed>& committed) {
  agents.syncs_in_progress.erase(agents.syncs_in_progress.find(call->caller.node));
  if (!committed.ok()) {
    // The answer to a full disk says that we count on it: only silence then.
    const bool full = committed.error().kind == ErrorKind::kExhausted;
    agents.observe_disconnected(call->caller.node, /*silent=*/full);
    return call->fail_agent(committed.error());
  }
  if (!agents.desk.stopping()) begin_session(agents, call, message);
}

void refuse_claim(Agents& agents, const Call& call, const std::string& address, const Error& why) {
  call.fail_agent(why);
  if (is_loss(why)) return agents.desk.give_up(why);
  not_admitted(agents, *agents.state().find_node(call.caller.node), address, why);
}

// Nothing is written for it. A node that is awaited counts on the time that it has, so that all of
// them need not sync at once.
void give_ticket(Agents& agents, const Call& call, const protocol::Machine& machine) {
  protocol::SyncAnswer answer;
  answer.ticket = agents.sync_tickets[call.caller.node] = wire::random_token(12);
  answer.epoch = agents.state().epoch.value;
  const core::Node& node = *agents.state().find_node(call.caller.node);
  const Span waits = waits_for(agents.state(), node, machine, agents.desk.now());
  // A former sync of it that is being written ends the wait for it: less time counts from there on.
  if (waits.us > 0 && !agents.syncs_in_progress.contains(node.id)) {
    answer.waits_us = waits.us;
    const std::int64_t turn_us = agents.sync_pace.next_us(agents.desk.loop.monotonic_us());
    answer.sync_after_us = std::min(turn_us, waits.us / 4);
  }
  reply_text(call, 200, protocol::sync_answer_text(answer));
}

// To read what is large takes time that is everybody's. The agent takes the answer for no word of
// ours: it does not count on being counted on.
bool is_held_up(Agents& agents, const Call& call) {
  constexpr std::size_t kSmall_kib = 64;
  const std::size_t kib = call.request.body.size() >> 10;
  if (kib <= kSmall_kib) return false;
  const auto error = agents.take_off_read(*agents.state().find_node(call.caller.node), kib);
  if (error) call.responder->send(wire::problem(429, *error));
  return error.has_value();
}

void sync_agent(Agents& agents, CallPtr call) {
  if (is_held_up(agents, *call)) return;
  Result<protocol::Sync> read = message_of(*call, protocol::read_sync);
  if (!read.ok()) return call->fail(read.error());
  const core::State& state = agents.state();
  read->machine.inventory = as_kept(state, std::move(read->machine.inventory));
  const auto message = std::make_shared<const protocol::Sync>(std::move(read).value());
  const protocol::Machine& machine = message->machine;
  const core::Node& node = *state.find_node(call->caller.node);
  if (const auto lost = behind(agents, node.name, machine)) {
    return refuse_claim(agents, *call, machine.address, *lost);
  }
  if (const auto who = may_sync(agents, node, machine); !who.ok()) {
    not_admitted(agents, node, machine.address, who.error());
    return call->fail(who.error());
  }
  if (!is_fresh(agents, node.id, message->ticket)) {
    return check_chain(agents, node.name, machine,
                       [&agents, call, message](const std::optional<Error>& lost) {
                         if (agents.desk.stopping()) return;
                         if (!lost) return give_ticket(agents, *call, message->machine);
                         refuse_claim(agents, *call, message->machine.address, *lost);
                       });
  }
  std::vector<Event> events = sync_events(state, node, *message, is_proven(agents, machine));
  if (const auto error = agents.take_off(node, events.size(), /*may_owe=*/true)) {
    return call->responder->send(wire::problem(429, *error));
  }
  controller::Input input;
  for (Event& event : events) {
    StampedEvent stamped{std::move(event), {}};
    stamped.cause.principal = call->caller.user;
    input.events.push_back(std::move(stamped));
  }
  input.kind = controller::InputKind::kReport;
  agents.drop_session(node.id);
  agents.syncs_in_progress.insert(node.id);
  agents.desk.submit(std::move(input),
                     [&agents, call, message](const Result<Committed>& committed) {
                       synced(agents, call, message, committed);
                     });
}

void stream_orders(Agents& agents, CallPtr call) {
  AgentSession* session = agents.sessions.find(call->caller.node, call->query_text("session"));
  if (session == nullptr) return call->responder->send(wire::problem(410, session_over()));
  agents.sessions.heard(*session);
  agents.sessions.open_stream(
      *session, call->responder->stream(200, {{"Content-Type", "application/x-ndjson"}}));
}

// What is no business of the ledger's goes to those whose it is; the rest becomes events.
std::vector<Event> take_apart(Agents& agents, const core::Node& node,
                              const std::vector<protocol::Report>& reports) {
  const core::State& state = agents.state();
  std::vector<Event> events;
  for (const protocol::Report& report : reports) {
    if (const auto* step = std::get_if<protocol::StepOver>(&report)) {
      agents.steps.ended(node.id, step->key.job, step->key.attempt, step->step, step->exits);
    } else if (const auto* task = std::get_if<protocol::StepTaskOver>(&report)) {
      agents.steps.task_ended(node.id, {task->key.job, task->key.attempt, task->step}, task->exit);
    } else if (const auto* shares = std::get_if<protocol::Shares>(&report)) {
      agents.shares.take(state, node.id, *shares);
    } else if (const auto* warnings = std::get_if<protocol::Warnings>(&report)) {
      agents.warnings.take(state, node.id, *warnings);
    } else if (const auto* use = std::get_if<protocol::Use>(&report)) {
      agents.use.take(state, node.id, *use, agents.desk.loop.monotonic_us(), agents.desk.now());
    }
    auto event = event_of(report, state, node);
    if (const auto* progress = std::get_if<protocol::Progress>(&report)) {
      event = agents.progress.take(state, node.id, *progress, agents.desk.loop.monotonic_us());
      for (Event& blame : agents.blames.take(state, node.id, *progress)) {
        events.push_back(std::move(blame));
      }
    }
    if (event.has_value()) events.push_back(std::move(*event));
  }
  return events;
}

void take_report(Agents& agents, CallPtr call) {
  if (is_held_up(agents, *call)) return;
  const auto read = message_of(*call, protocol::read_report_message);
  if (!read.ok()) return call->fail(read.error());
  AgentSession* session = agents.sessions.find(call->caller.node, read->session);
  if (session == nullptr) return call->responder->send(wire::problem(410, session_over()));
  agents.sessions.heard(*session);
  if (read->not_enforced.has_value()) session->not_enforced = *read->not_enforced;
  if (read->offer.has_value()) session->offer = offer_of(read->offer);
  const core::Node& node = *agents.state().find_node(call->caller.node);
  std::vector<Event> events = take_apart(agents, node, read->reports);
  if (read->inventory) add_inventory(agents.state(), node, *read->inventory, events);
  if (events.empty()) {
    const bool resync = stays_different(agents, *session, *read);
    return answer_report(agents, *call, read->number, resync);
  }
  if (const auto error = agents.take_off(node, events.size(), /*may_owe=*/false)) {
    return call->responder->send(wire::problem(503, *error));
  }
  session->differing = 0;
  ++session->reports_in_progress;
  controller::Input input;
  input.kind = controller::InputKind::kReport;
  for (Event& event : events) {
    StampedEvent stamped{std::move(event), {}};
    stamped.cause.principal = call->caller.user;
    input.events.push_back(std::move(stamped));
  }
  const Reported reported{read->session, read->number, ended_in(read->reports)};
  agents.desk.submit(std::move(input),
                     [&agents, call, reported](const Result<Committed>& committed) {
                       report_committed(agents, *call, reported, committed);
                     });
}

void take_relayed(Agents& agents, CallPtr call) {
  const std::string id = call->parameters[1];
  agents.relays.deliver(id, std::move(call));
}

void read_step_input(Agents& agents, CallPtr call) {
  const std::string relay = call->parameters[1];
  agents.steps.read_input(std::move(call), relay);
}

void join_exec(Agents& agents, CallPtr call) {
  const std::string id = call->parameters[1];
  agents.links.join(call, id);
}

// Enough for an agent with tens of thousands of tasks, each with its exit.
constexpr std::size_t kBodyMax = 64 * listener::kMiB;
constexpr std::size_t kValuesMax = 500'000;
constexpr std::size_t kJoinBytesMax = 4 * listener::kMiB;  // an inventory

constexpr std::array kRoutes = {
    AgentRoute{{"POST", "/v1/agents/join", "joinAgent", kJoinBytesMax}, join_agent},
    AgentRoute{{"POST", "/v1/agents/{name}/certificate", "certifyNode"}, certify_node},
    AgentRoute{{"POST", "/v1/agents/{name}/sync", "syncAgent", kBodyMax, kValuesMax}, sync_agent},
    AgentRoute{{"GET", "/v1/agents/{name}/orders", "streamOrders"}, stream_orders},
    AgentRoute{{"POST", "/v1/agents/{name}/report", "takeReport", kBodyMax, kValuesMax},
               take_report},
    AgentRoute{{"POST", "/v1/agents/{name}/relays/{id}", "takeRelayed", kBodyMax}, take_relayed},
    AgentRoute{{"GET", "/v1/agents/{name}/relays/{id}/input", "readStepInput"}, read_step_input},
    AgentRoute{{"GET", "/v1/agents/{name}/execs/{id}", "joinExec"}, join_exec},
    AgentRoute{{"GET", "/v1/agents/{name}/secrets/{job}/{attempt}", "giveSecrets"}, give_secrets},
};

}  // namespace

std::span<const AgentRoute> agent_routes() { return kRoutes; }

}  // namespace dove::backends
