#include "backends/native/agent_sessions.h"

#include <fmt/format.h>

#include "protocol/control.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::backends {
namespace {

// Each node is pinged, and looked at, once in a round of this many ticks: a thousand agents share
// one timer, and their pings are spread.
constexpr std::uint32_t kSlots = 20;
constexpr std::int64_t kOpenStream_us = 10'000'000;
constexpr std::size_t kUnsentBytesMax = 64 << 20;

}  // namespace

AgentSessions::AgentSessions(wire::Loop& loop, const listener::Projection& projection,
                             std::int64_t heartbeat_us, Proof proof, Ended ended)
    : loop_(loop),
      projection_(projection),
      heartbeat_us_(heartbeat_us),
      proof_(std::move(proof)),
      ended_(std::move(ended)) {
  tick();
}

AgentSession& AgentSessions::begin(NodeId node) {
  std::unique_ptr<AgentSession>& session = sessions_[node];
  if (session != nullptr && session->orders != nullptr) session->orders->close();
  session = std::make_unique<AgentSession>();
  session->id = wire::random_token(12);
  session->node = node;
  session->heard_at_us = loop_.monotonic_us();
  session->last_order = projection_.state().head;
  return *session;
}

AgentSession* AgentSessions::find(NodeId node) {
  const auto found = sessions_.find(node);
  return found == sessions_.end() ? nullptr : found->second.get();
}

AgentSession* AgentSessions::find(NodeId node, std::string_view id) {
  AgentSession* session = find(node);
  return session != nullptr && session->id == id ? session : nullptr;
}

void AgentSessions::open_stream(AgentSession& session, std::shared_ptr<wire::Outflow> orders) {
  if (session.orders != nullptr) session.orders->close();
  session.orders = std::move(orders);
  const NodeId node = session.node;
  session.orders->on_closed([this, node, id = session.id] {
    if (find(node, id) != nullptr) end(node, /*silent=*/false);
  });
  if (!session.unsent.empty()) session.orders->write(session.unsent);
  session.unsent.clear();
  session.unsent.shrink_to_fit();
}

void AgentSessions::heard(AgentSession& session) { session.heard_at_us = loop_.monotonic_us(); }

void AgentSessions::write(AgentSession& session, std::string_view line) {
  if (session.orders == nullptr) {
    if (session.unsent.size() + line.size() > kUnsentBytesMax) return;
    session.unsent.append(line);
    session.unsent += '\n';
    return;
  }
  // A stream that overflows is closed by the server; the agent syncs and gets it all again.
  std::string whole(line);
  whole += '\n';
  session.orders->write(whole);
}

bool AgentSessions::send(NodeId node, std::string_view line, Seq order) {
  AgentSession* session = find(node);
  if (session == nullptr) return false;
  if (order > session->last_order) session->last_order = order;
  write(*session, line);
  return true;
}

void AgentSessions::send_all(std::string_view line) {
  for (auto& [node, session] : sessions_) write(*session, line);
}

void AgentSessions::end(NodeId node, bool silent) {
  const auto found = sessions_.find(node);
  if (found == sessions_.end()) return;
  const std::unique_ptr<AgentSession> session = std::move(found->second);
  sessions_.erase(found);
  if (session->orders != nullptr) session->orders->close();
  ended_(node, silent);
}

void AgentSessions::drop(NodeId node) {
  const auto found = sessions_.find(node);
  if (found == sessions_.end()) return;
  if (found->second->orders != nullptr) found->second->orders->close();
  sessions_.erase(found);
}

void AgentSessions::end_all() {
  timer_.cancel();
  const core::State& state = projection_.state();
  protocol::Control last;
  last.bye = true;
  last.epoch = state.epoch;
  const std::string bye = protocol::control_line(last);
  for (auto& [node, session] : sessions_) {
    if (session->orders == nullptr) continue;
    write(*session, bye);
    session->orders->close();
  }
  sessions_.clear();
}

void AgentSessions::tick() {
  timer_ = loop_.after(std::chrono::microseconds(heartbeat_us_ / kSlots), [this] { tick(); });
  slot_ = (slot_ + 1) % kSlots;
  const core::State& state = projection_.state();
  const std::int64_t now_us = loop_.monotonic_us();
  protocol::Control line;
  line.ping = state.head;
  line.epoch = state.epoch;
  line.proof = proof_(state.epoch, state.head);
  const std::string ping = protocol::control_line(line);
  std::vector<std::pair<NodeId, bool>> over;
  for (auto& [node, session] : sessions_) {
    // Whoever waits for the node waits from here on: silence is noticed as soon as it is one.
    const std::int64_t quiet_us = now_us - session->heard_at_us;
    if (session->reports_in_progress == 0 && quiet_us > state.settings.silent_after.us) {
      over.emplace_back(node, true);
      continue;
    }
    if (node.value % kSlots != slot_) continue;
    if (session->orders == nullptr && quiet_us > kOpenStream_us) {
      // It may never have got the answer, and count on its grace.
      over.emplace_back(node, true);
    } else if (session->orders != nullptr) {
      write(*session, ping);
    }
  }
  for (const auto& [node, silent] : over) end(node, silent);
}

}  // namespace dove::backends
