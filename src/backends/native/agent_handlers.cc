// The controller's side of api/agent-protocol.md.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "backends/native/agents.h"
#include "backends/native/node_reports.h"
#include "backends/native/sync_plan.h"
#include "codec/json.h"
#include "controller/orders.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;
using controller::Committed;
using listener::Access;
using listener::Call;
using AgentRoute = listener::RouteOf<Agents>;

constexpr std::int64_t kProtocol = 1;
constexpr int kDifferingMax = 3;
constexpr std::size_t kNotEnforced_bytes = 1024;

// The log is shorter than what an agent was told of: records were lost (a restored backup, a disk
// that lied).
std::optional<Error> behind(const core::State& state, const std::string& node, std::uint64_t epoch,
                            std::uint64_t head) {
  if (head <= state.head.value && epoch <= state.epoch.value) return std::nullopt;
  return Error{
      ErrorKind::kConflict, "log_head_behind",
      fmt::format("node {} has seen record {} of term {}, this log ends at record {} of term {}: a "
                  "part of the log is lost, or a newer controller took over. Nothing is accepted, "
                  "so that no work is run twice; see docs/operate/recovery.md",
                  node, head, epoch, state.head.value, state.epoch.value),
      ""};
}

Result<void> check_protocol(const Json& body) {
  const Json& version = body.contains("protocol") ? body.at("protocol") : Json();
  if (version.is_number_integer() && version.get<std::int64_t>() == kProtocol) return {};
  return Error{ErrorKind::kInvalid, "protocol_unsupported",
               fmt::format("this controller speaks agent protocol {}; use the agent of the same "
                           "version of dove",
                           kProtocol),
               "protocol"};
}

Json attempt_json(JobId job, AttemptNumber attempt) {
  return Json{{"job", job.value}, {"attempt", attempt}};
}

Json sync_answer(Agents& agents, const AgentSession& session, const SyncMessage& message) {
  const core::State& state = agents.state();
  Json orders = Json::array();
  OrderText text(agents.order_sources());
  for (const Order& order : controller::outstanding_orders(state, session.node)) {
    orders.push_back(Json::parse(text.write(order)));
  }
  Json forget = Json::array();
  const Leftovers left = leftovers(state, session.node, message);
  for (const HeldPlacement* held : left.stop) {
    orders.push_back(Json{{"seq", state.head.value},
                          {"epoch", state.epoch.value},
                          {"order", "stop"},
                          {"job", held->job.value},
                          {"attempt", held->attempt},
                          {"reason", "unknown_to_ledger"}});
  }
  for (const HeldPlacement* held : left.forget) {
    forget.push_back(attempt_json(held->job, held->attempt));
  }
  return Json{{"session", session.id},
              {"epoch", state.epoch.value},
              {"log_head", state.head.value},
              {"after", state.head.value},
              {"fence_us", state.settings.fence.us},
              {"disconnect_grace_us", state.settings.disconnect_grace.us},
              {"heartbeat_us", agents.desk.options.heartbeat_us},
              {"cluster", state.settings.name},
              {"cluster_id", agents.desk.identity.cluster_id()},
              {"orders", std::move(orders)},
              {"forget", std::move(forget)}};
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

struct StepEnd {
  JobId job;
  AttemptNumber attempt = 0;
  std::int32_t step = 0;
  std::vector<TaskExit> exits;
};

struct ReportMessage {
  std::string session;
  std::uint64_t number = 0;
  std::uint64_t applied = 0;
  std::string placements_hash;
  std::optional<Inventory> inventory;       // when it changed
  std::optional<std::string> not_enforced;  // likewise
  std::vector<Event> events;
  std::vector<ProgressSaid> progress;
  std::vector<ShareSaid> shares;
  std::vector<WarningsSaid> warnings;
  std::vector<std::pair<JobId, AttemptNumber>> ended;
  std::vector<StepEnd> steps;
};

Result<StepEnd> read_step_end(const Json& item) {
  StepEnd end{JobId(item.at("job").get<std::uint64_t>()),
              item.at("attempt").get<AttemptNumber>(),
              item.at("step").get<std::int32_t>(),
              {}};
  for (const Json& value : item.value("exits", Json::array())) {
    TRY_ASSIGN(TaskExit exit, codec::read_task_exit(value));
    end.exits.push_back(std::move(exit));
  }
  return end;
}

Result<ReportMessage> read_report_message(const core::State& state, const Call& call) {
  TRY_ASSIGN(const Json body, call.json_body());
  ReportMessage message;
  try {
    message.session = body.at("session").get<std::string>();
    message.number = body.at("report").get<std::uint64_t>();
    message.applied = body.value("applied", std::uint64_t{0});
    message.placements_hash = body.value("placements_hash", "");
    if (body.contains("inventory")) {
      TRY_ASSIGN(message.inventory, codec::read_inventory(body.at("inventory")));
    }
    if (body.contains("not_enforced")) {
      message.not_enforced =
          body.at("not_enforced").get<std::string>().substr(0, kNotEnforced_bytes);
    }
    for (const Json& item : body.value("events", Json::array())) {
      const auto kind = item.at("kind").get<std::string>();
      if (kind == "step_ended") {
        TRY_ASSIGN(StepEnd end, read_step_end(item));
        message.steps.push_back(std::move(end));
        continue;
      }
      if (kind == "progress") {
        message.progress.push_back(read_progress(item));
        continue;
      }
      if (kind == "shares") {
        message.shares.push_back(read_share_said(item));
        continue;
      }
      if (kind == "warnings") {
        message.warnings.push_back(read_warnings(item));
        continue;
      }
      if (kind == "preflight_failed") {
        message.events.push_back(read_preflight_failure(item, state, call.caller.node));
        continue;
      }
      if (is_node_report(kind)) {
        TRY_ASSIGN(std::optional<Event> event,
                   read_node_report(item, *state.find_node(call.caller.node)));
        if (event.has_value()) message.events.push_back(std::move(*event));
        continue;
      }
      if (kind == "refused") continue;  // an order of an older epoch: there is a newer one
      TRY_ASSIGN(Event event, read_report(item, call.caller.node));
      if (kind == "ended" || kind == "launch_failed") {
        message.ended.emplace_back(JobId(item.at("job").get<std::uint64_t>()),
                                   item.at("attempt").get<AttemptNumber>());
      }
      message.events.push_back(std::move(event));
    }
  } catch (const Json::exception& e) {
    return listener::invalid("malformed_message", e.what(), "");
  }
  return message;
}

// Whether what the agent holds has been other than the ledger says for some heartbeats on end,
// without an order under way that would explain it.
bool stays_different(Agents& agents, AgentSession& session, const ReportMessage& message) {
  const core::Node* node = agents.state().find_node(session.node);
  const bool same =
      fmt::format("{:016x}", placements_hash(agents.state(), *node)) == message.placements_hash;
  if (same || message.applied < session.last_order.value) {
    session.differing = 0;
    return false;
  }
  if (++session.differing < kDifferingMax) return false;
  session.differing = 0;
  telemetry::log(telemetry::Level::kWarning, "resync_asked", {{"node", node->name}});
  return true;
}

void answer_report(Agents& agents, const Call& call, const ReportMessage& message, bool resync) {
  const core::State& state = agents.state();
  call.reply(200, Json{{"acked", message.number},
                       {"log_head", state.head.value},
                       {"epoch", state.epoch.value},
                       {"now_us", telemetry::now_us()},
                       {"resync", resync}});
}

void report_committed(Agents& agents, const Call& call, const ReportMessage& message,
                      const Result<Committed>& committed) {
  AgentSession* session = agents.sessions.find(call.caller.node, message.session);
  if (session != nullptr) {
    --session->reports_in_progress;
    agents.sessions.heard(*session);
  }
  if (!committed.ok()) return call.fail_agent(committed.error());
  answer_report(agents, call, message, false);
  Json forget = Json::array();
  for (const auto& [job, attempt] : message.ended) {
    const core::PlacementRecord* record =
        find_placement(agents.state(), job, attempt, call.caller.node);
    if (record != nullptr && record->stage != core::PlacementStage::kEnded) continue;
    forget.push_back(attempt_json(job, attempt));
  }
  if (session != nullptr && !forget.empty()) {
    agents.sessions.send(call.caller.node, codec::dump_json(Json{{"forget", std::move(forget)}}));
  }
}

void finish_join(Agents& agents, CallPtr call, const std::string& name, const std::string& digest,
                 const SyncMessage& message) {
  const std::string agent_token = wire::random_token(32);
  StampedEvent event{NodeRegistered{name, message.boot_id, "native", message.address,
                                    wire::sha256_hex(agent_token),
                                    std::make_shared<const Inventory>(message.inventory)},
                     {}};
  event.cause.principal = "agent:" + name;
  event.cause.body_sha256 = digest;
  controller::Input input;
  input.events.push_back(std::move(event));
  agents.joining.insert(digest);
  agents.desk.submit(std::move(input), [&agents, call, name, digest,
                                        agent_token](const Result<Committed>& committed) {
    agents.joining.erase(digest);
    if (!committed.ok()) return call->fail_agent(committed.error());
    const core::Node* node = agents.state().find_node(name);
    call->reply(201, Json{{"node", node == nullptr ? 0 : node->id.value},
                          {"agent_token", agent_token},
                          {"cluster", agents.state().settings.name}});
  });
}

void join_agent(Agents& agents, CallPtr call) {
  Result<std::string> digest = listener::Identity::token_digest(call->request);
  if (!digest.ok()) return call->fail(digest.error());
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  if (const auto checked = check_protocol(*body); !checked.ok()) return call->fail(checked.error());
  const Result<SyncMessage> message = read_sync(*body);
  if (!message.ok()) return call->fail(message.error());
  const Json& given = body->contains("name") ? body->at("name") : Json();
  const std::string name = given.is_string() ? given.get<std::string>() : "";
  if (!listener::is_name(name)) {
    return call->fail(listener::invalid(
        "bad_name", "a node's name is letters, digits and _.-, at most 64", "name"));
  }
  const core::State& state = agents.state();
  // No reason to stop: whoever gave out the join token may mean this to be a fresh cluster.
  if (auto lost = behind(state, name, message->epoch_seen, message->log_head_seen)) {
    lost->message += "; for a fresh cluster, give the agent a fresh data directory";
    return call->fail(*lost);
  }
  const auto token = state.join_tokens.find(*digest);
  if (token == state.join_tokens.end() || agents.joining.count(*digest) != 0 ||
      token->second.expires_at < state.now ||
      (!token->second.node_name.empty() && token->second.node_name != name)) {
    return call->fail(listener::join_token_invalid());
  }
  const core::Node* known = state.find_node(name);
  if (known != nullptr && agents.sessions.find(known->id) != nullptr) {
    return call->fail(Error{ErrorKind::kConflict, "node_exists_elsewhere",
                            fmt::format("an agent named {} is connected; give this one another "
                                        "name, or stop that one",
                                        name),
                            "name"});
  }
  finish_join(agents, std::move(call), name, *digest, *message);
}

void sync_agent(Agents& agents, CallPtr call) {
  Result<Json> body = call->json_body();
  if (!body.ok()) return call->fail(body.error());
  if (const auto checked = check_protocol(*body); !checked.ok()) return call->fail(checked.error());
  Result<SyncMessage> read = read_sync(*body);
  if (!read.ok()) return call->fail(read.error());
  const auto message = std::make_shared<const SyncMessage>(std::move(read).value());
  const core::State& state = agents.state();
  const core::Node& node = *state.find_node(call->caller.node);
  if (const auto lost = behind(state, node.name, message->epoch_seen, message->log_head_seen)) {
    call->fail(*lost);
    return agents.desk.give_up(*lost);
  }
  if (!is_fresh(agents, node.id, message->ticket)) {
    std::string& ticket = agents.sync_tickets[node.id];
    ticket = wire::random_token(12);
    return call->reply(200, Json{{"ticket", ticket}});
  }
  controller::Input input;
  for (Event& event : sync_events(state, node, *message)) {
    StampedEvent stamped{std::move(event), {}};
    stamped.cause.principal = call->caller.user;
    input.events.push_back(std::move(stamped));
  }
  input.kind = controller::InputKind::kReport;
  const auto said = [&](const char* name, std::size_t limit) {
    const Json value = body->value(name, Json());
    return value.is_string() ? value.get<std::string>().substr(0, limit) : "";
  };
  const std::string version = said("version", 64);
  const std::string not_enforced = said("not_enforced", kNotEnforced_bytes);
  const Json pid = body->value("agent_pid", Json());
  const std::int64_t agent_pid = pid.is_number_integer() ? pid.get<std::int64_t>() : 0;
  agents.drop_session(node.id);
  agents.desk.submit(std::move(input), [&agents, call, message, version, not_enforced,
                                        agent_pid](const Result<Committed>& committed) {
    if (!committed.ok()) {
      // The answer to a full disk says that we count on it: only silence then.
      const bool full = committed.error().kind == ErrorKind::kExhausted;
      agents.observe_disconnected(call->caller.node, /*silent=*/full);
      return call->fail_agent(committed.error());
    }
    if (agents.desk.stopping()) return;
    AgentSession& session = agents.sessions.begin(call->caller.node);
    session.version = version;
    session.agent_pid = agent_pid;
    session.not_enforced = not_enforced;
    agents.steps.node_back(call->caller.node);
    agents.steps.found(call->caller.node, message->steps);
    call->reply(200, sync_answer(agents, session, *message));
  });
}

void stream_orders(Agents& agents, CallPtr call) {
  AgentSession* session = agents.sessions.find(call->caller.node, call->query_text("session"));
  if (session == nullptr) return call->responder->send(wire::problem(410, session_over()));
  agents.sessions.heard(*session);
  agents.sessions.open_stream(
      *session, call->responder->stream(200, {{"Content-Type", "application/x-ndjson"}}));
}

void take_report(Agents& agents, CallPtr call) {
  Result<ReportMessage> read = read_report_message(agents.state(), *call);
  if (!read.ok()) return call->fail(read.error());
  AgentSession* session = agents.sessions.find(call->caller.node, read->session);
  if (session == nullptr) return call->responder->send(wire::problem(410, session_over()));
  agents.sessions.heard(*session);
  if (read->not_enforced.has_value()) session->not_enforced = *read->not_enforced;
  for (const StepEnd& end : read->steps) {
    agents.steps.ended(call->caller.node, end.job, end.attempt, end.step, end.exits);
  }
  const core::Node& node = *agents.state().find_node(call->caller.node);
  for (const ShareSaid& said : read->shares) agents.shares.take(agents.state(), node.id, said);
  for (WarningsSaid& said : read->warnings) {
    agents.warnings.take(agents.state(), node.id, std::move(said));
  }
  for (const ProgressSaid& said : read->progress) {
    auto event =
        agents.progress.take(agents.state(), node.id, said, agents.desk.loop.monotonic_us());
    if (event.has_value()) read->events.push_back(std::move(*event));
  }
  if (read->inventory.has_value() && *read->inventory != *node.inventory) {
    read->events.push_back(
        NodeRegistered{node.name, node.boot_id, node.backend, node.address, node.agent_token_sha256,
                       std::make_shared<const Inventory>(std::move(*read->inventory))});
  }
  if (read->events.empty()) {
    const bool resync = stays_different(agents, *session, *read);
    return answer_report(agents, *call, *read, resync);
  }
  session->differing = 0;
  ++session->reports_in_progress;
  controller::Input input;
  input.kind = controller::InputKind::kReport;
  for (Event& event : read->events) {
    StampedEvent stamped{std::move(event), {}};
    stamped.cause.principal = call->caller.user;
    input.events.push_back(std::move(stamped));
  }
  const auto message = std::make_shared<const ReportMessage>(std::move(read).value());
  agents.desk.submit(std::move(input),
                     [&agents, call, message](const Result<Committed>& committed) {
                       report_committed(agents, *call, *message, committed);
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
  agents.execs.join(call, id);
}

constexpr std::size_t kBodyMax = 64 * listener::kMiB;  // of an agent with thousands of tasks

constexpr std::array kRoutes = {
    AgentRoute{{"POST", "/v1/agents/join", "joinAgent", Access::kJoin, kBodyMax}, join_agent},
    AgentRoute{{"POST", "/v1/agents/{name}/sync", "syncAgent", Access::kAgent, kBodyMax},
               sync_agent},
    AgentRoute{{"GET", "/v1/agents/{name}/orders", "streamOrders", Access::kAgent}, stream_orders},
    AgentRoute{{"POST", "/v1/agents/{name}/report", "takeReport", Access::kAgent, kBodyMax},
               take_report},
    AgentRoute{{"POST", "/v1/agents/{name}/relays/{id}", "takeRelayed", Access::kAgent, kBodyMax},
               take_relayed},
    AgentRoute{{"GET", "/v1/agents/{name}/relays/{id}/input", "readStepInput", Access::kAgent},
               read_step_input},
    AgentRoute{{"GET", "/v1/agents/{name}/execs/{id}", "joinExec", Access::kAgent}, join_exec},
};

}  // namespace

std::span<const AgentRoute> agent_routes() { return kRoutes; }

}  // namespace dove::backends
