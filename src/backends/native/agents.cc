#include "backends/native/agents.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/native/links/warning_lines.h"
#include "listener/node_authority.h"
#include "protocol/control.h"
#include "telemetry/log.h"

namespace dove::backends {
namespace {

// A batch of reports, or a sync of a large machine, is a few hundred KiB.
constexpr std::int64_t kReadBurst_kib = 64 << 10;
constexpr std::int64_t kReadPerSecond_kib = 1 << 10;

constexpr std::int64_t kOwnStopAfter_ms = 1'000;
constexpr std::int64_t kOwnStopKnown_us = 10'000'000;  // for the decision to come

}  // namespace

std::vector<std::string> programs_of(const std::vector<Order>& orders) {
  std::vector<std::string> programs;
  for (const Order& order : orders) {
    if (order.kind != OrderKind::kLaunch) continue;
    if (programs.empty() || programs.back() != order.spec->exec_digest) {
      programs.push_back(order.spec->exec_digest);
    }
  }
  return programs;
}

Agents::Agents(listener::Desk& on_desk)
    : desk(on_desk),
      relays(desk.loop),
      sessions(
          desk.loop, desk.projection, desk.options.heartbeat_us,
          [this](Epoch epoch, Seq head) { return head_proof(epoch, head); },
          [this](NodeId node, bool silent) { session_ended(node, silent); }),
      steps(desk.loop, desk.projection, sessions, relays, desk.options.data_dir + "/steps.jsonl"),
      links(desk.loop, sessions, *desk.open_access, [this] { return desk.now(); }),
      execs(desk.projection, links,
            [this](StampedEvent event, listener::Desk::Done done) {
              controller::Input input;
              input.events.push_back(std::move(event));
              desk.submit(std::move(input), std::move(done));
            }),
      forwards(desk.projection, links),
      log_thread(desk.loop, desk.log, desk.options.reads_aside) {
  desk.on_batch([this](const listener::RecentBatch& recent) {
    const auto& batch = recent.committed->batch;
    const auto warn = [this](const WarningLine& line) {
      if (line.has_value()) links.tell(line->first, line->second);
    };
    bool may_differ = false;  // who is expelled
    for (const StampedEvent& event : batch.events) {
      warn(warning_line(event.event, batch.at));
      const auto* asked = std::get_if<NodeActionRequested>(&event.event);
      const bool expels = asked != nullptr && asked->action == NodeAction::kExpel;
      if (expels) expelled(*asked);
      const bool joins = std::holds_alternative<NodeRegistered>(event.event);
      may_differ = may_differ || expels || (joins && !expelled_.empty());
    }
    if (may_differ) tell_expelled();
    for (const Decision& decision : batch.decisions) {
      warn(warning_line(decision));
      progress.decided(decision);
      blames.decided(decision);
      use.decided(decision);
      if (const auto* end = std::get_if<EndJob>(&decision)) links.forget(end->job);
    }
  });
  expelled_ = find_expelled();
  watch();
}

OrderSources Agents::order_sources(listener::Blobs::Found programs) {
  return OrderSources{
      state(), std::move(programs),
      [this](JobId job, AttemptNumber attempt) { return desk.identity.job_token(job, attempt); },
      [this](JobId job) {
        const auto found = ending_themselves_.find(job);
        const bool lasts =
            found != ending_themselves_.end() && found->second > desk.loop.monotonic_us();
        return lasts ? kOwnStopAfter_ms : 0;
      },
      [this](Epoch epoch, Seq head) { return head_proof(epoch, head); }};
}

std::string Agents::head_proof(Epoch epoch, Seq head) {
  const std::tuple about(epoch, head, state().head);
  if (proof.empty() || proven != about) {
    proven = about;
    listener::LogEnd end{state().head, desk.projection.chain()};
    if (head > state().head) end = {};
    proof = desk.identity.head_proof(epoch, head, end);
  }
  return proof;
}

void Agents::expect_own_end(JobId job) {
  const std::int64_t now_us = desk.loop.monotonic_us();
  std::erase_if(ending_themselves_, [&](const auto& entry) { return entry.second <= now_us; });
  ending_themselves_[job] = now_us + kOwnStopKnown_us;
}

void Agents::send_orders(std::vector<Order> orders) {
  Round round;
  for (const Order& order : orders) {
    if (const AgentSession* session = sessions.find(order.node)) round.to[order.node] = session->id;
  }
  round.orders = std::move(orders);
  unsent_.push_back(std::move(round));
  if (unsent_.size() == 1) send_next();
}

// One round after the other, each once it is known what its launches run: a stop may not come
// before its launch. Whoever synced meanwhile was told what is still wanted then, and no more.
void Agents::send_next() {
  desk.blobs.fetch(programs_of(unsent_.front().orders), listener::Blobs::kForever,
                   [this](Result<listener::Blobs::Found> programs) {
                     const Round round = std::move(unsent_.front());
                     OrderLines lines(order_sources(std::move(programs).value()));
                     for (const Order& order : round.orders) {
                       const auto to = round.to.find(order.node);
                       if (to == round.to.end()) continue;
                       const AgentSession* session = sessions.find(order.node, to->second);
                       if (session == nullptr || !can_take(*session, order)) continue;
                       sessions.send(order.node, lines.write(order), order.seq);
                     }
                     unsent_.pop_front();
                     if (!unsent_.empty()) send_next();
                   });
}

bool Agents::can_take(const AgentSession& session, const Order& order) {
  if (order.kind != OrderKind::kLaunch || order.spec->secrets.empty()) return true;
  if (session.offer && session.offer->gives_secrets) return true;
  const core::Node* node = state().find_node(order.node);
  desk.observe(LaunchFailed{
      order.job, order.attempt, order.node,
      fmt::format("the agent of node {} (version {}) is too old to give tasks secrets; update it",
                  node == nullptr ? "" : node->name, session.version)});
  return false;
}

void Agents::watch() {
  constexpr std::int64_t kLook_us = 5'000'000;
  const std::int64_t hang_after_us = state().settings.hang_after.us;
  const std::int64_t wait_us =
      hang_after_us > 0 ? std::clamp<std::int64_t>(hang_after_us / 4, 50'000, kLook_us) : kLook_us;
  watch_timer_ = desk.loop.after(std::chrono::microseconds(wait_us), [this] { watch(); });
  if (desk.stopping()) return;
  // Agents hear of those that have ended with the next change.
  if (!expelled_.empty()) expelled_ = find_expelled();
  for (Event& event : progress.look(state(), desk.loop.monotonic_us())) {
    desk.observe(std::move(event));
  }
}

void Agents::drop_session(NodeId node) {
  sessions.drop(node);
  relays.node_gone(node);
}

void Agents::session_ended(NodeId node, bool silent) {
  relays.node_gone(node);
  if (!desk.stopping()) observe_disconnected(node, silent);
}

// Its agent may not see that the connections end, so that is silence. Whatever it calls from now on
// is refused (listener::may_speak).
void Agents::expelled(const NodeActionRequested& event) {
  const core::Node* node = state().find_node(event.node);
  if (node == nullptr || !core::is_expelled(*node)) return;
  telemetry::log(telemetry::Level::kWarning, "node_expelled",
                 {{"node", node->name}, {"by", node->request.who}, {"why", event.why}});
  sync_tickets.erase(event.node);
  sessions.end(event.node, /*silent=*/true);
  links.end_of(event.node);
}

// None is certified any more, and none was heard of since. How long a certificate lives is a
// setting that may have been another one; so each counts for the longest that there can be, and a
// day for clocks that differ.
std::vector<std::string> Agents::find_expelled() const {
  constexpr std::size_t kMost = 1'000;
  constexpr std::int64_t kCounts_s = listener::kNodeCertificateMost_s + 24 * 3600;
  const Instant ended{desk.now().us - kCounts_s * 1'000'000};
  std::vector<const core::Node*> nodes;
  for (const core::Node& node : state().nodes) {
    if (core::is_expelled(node) && node.contact_since > ended) nodes.push_back(&node);
  }
  if (nodes.size() > kMost) {
    const auto is_later = [](const core::Node* a, const core::Node* b) {
      return a->contact_since > b->contact_since;
    };
    std::ranges::nth_element(nodes, nodes.begin() + kMost, is_later);
    nodes.resize(kMost);
  }
  std::vector<std::string> names;
  for (const core::Node* node : nodes) names.push_back(node->name);
  std::ranges::sort(names);
  return names;
}

void Agents::tell_expelled() {
  std::vector<std::string> now = find_expelled();
  if (now == expelled_) return;
  expelled_ = std::move(now);
  protocol::Control line;
  line.expelled = expelled_;
  sessions.send_all(protocol::control_line(line));
}

std::optional<Error> Agents::take_off(const core::Node& node, std::size_t events, bool may_owe) {
  const std::int64_t burst = desk.options.report_burst;
  Allowance& allowance = written_.try_emplace(node.id, burst).first->second;
  const std::int64_t debt_max = may_owe ? burst : 0;
  if (allowance.take(static_cast<std::int64_t>(events), desk.loop.monotonic_us(), debt_max)) {
    return std::nullopt;
  }
  return says_too_much(node, fmt::format("written to the log ({} events, and {} a second", burst,
                                         Allowance::kPerSecond));
}

std::optional<Error> Agents::take_off_read(const core::Node& node, std::size_t kib) {
  Allowance& allowance =
      read_.try_emplace(node.id, kReadBurst_kib, kReadPerSecond_kib).first->second;
  if (allowance.take(static_cast<std::int64_t>(kib), desk.loop.monotonic_us())) return std::nullopt;
  return says_too_much(
      node, fmt::format("read ({} KiB, and {} a second", kReadBurst_kib, kReadPerSecond_kib));
}

Error Agents::says_too_much(const core::Node& node, const std::string& limit) {
  Error error{ErrorKind::kConflict, "too_many_reports",
              fmt::format("node {} says more than a node may have {} in the long run); its agent "
                          "is to try again",
                          node.name, limit),
              ""};
  refusals.refused(node.id, node.name, node.address, error, desk.loop.monotonic_us());
  return error;
}

void Agents::observe_disconnected(NodeId node, bool silent) {
  const core::Node* found = state().find_node(node);
  telemetry::log(telemetry::Level::kWarning, "agent_disconnected",
                 {{"node", found == nullptr ? "" : found->name}, {"silent", silent}});
  desk.observe(NodeDisconnected{node, silent});
}

void Agents::end_all() {
  sessions.end_all();
  steps.close_all();
  links.close_all();
}

}  // namespace dove::backends
