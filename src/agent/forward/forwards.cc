#include "agent/forward/forwards.h"

#include <utility>

namespace dove::agent {

void Forwards::open(const ForwardOrder& order, Result<ForwardTarget> target) {
  if (host_.loop == nullptr || sessions_.count(order.id) != 0) return;
  if (sessions_.size() >= kMost) {
    target = Error{ErrorKind::kUnavailable, "too_many_connections",
                   "the job has as many connections on this node as it may have", ""};
  }
  auto session = std::make_unique<ForwardSession>(host_, order, std::move(target), known_,
                                                  [this, id = order.id] { sessions_.erase(id); });
  ForwardSession& begun = *session;
  sessions_[order.id] = std::move(session);
  begun.begin();
}

void Forwards::end(Rank rank, const std::string& why) {
  for (const auto& [id, session] : sessions_) {
    if (session->rank() == rank) session->end(why);
  }
}

void Forwards::end_all(const std::string& why) {
  for (const auto& [id, session] : sessions_) session->end(why);
}

}  // namespace dove::agent
