// AgentsPort: the port of agents, with TLS, and who answers there.
//
// A controller that stands by listens there, too, once another one leads: agents that lost their
// leader connect while nobody leads. When it begins to lead, their connections go on, so its first
// answers wait for no handshake. Loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/responder.h"
#include "wire/server.h"
#include "wire/tls/tls.h"

namespace dove::server {

// A sync's worth of orders may wait for its agent.
inline constexpr std::size_t kOrdersBytesMax = 64 << 20;

class AgentsPort {
 public:
  struct Answers {
    std::function<Result<std::size_t>(const wire::Request& head)> admit;  // as in ServerLimits
    wire::Handler handler;
    // As Tls::let_in. Nothing, or unset: that cannot be said now. The node enters, and is looked at
    // again until it can be.
    std::function<std::optional<bool>(const std::string& uri)> may_enter;
  };

  // Errors: address_in_use, bind_denied, bad_address.
  static Result<std::unique_ptr<AgentsPort>> open(wire::Loop& loop, const std::string& host,
                                                  std::uint16_t port,
                                                  std::shared_ptr<wire::Tls> tls, Answers answers);
  // Drops every connection; nobody enters any more.
  ~AgentsPort();
  AgentsPort(const AgentsPort&) = delete;
  AgentsPort& operator=(const AgentsPort&) = delete;

  // From here on these answer. Connections go on, but for those of nodes that may not enter.
  void answer_by(Answers answers);
  std::uint16_t port() const { return http_->port(); }
  // Ends the node's connections at once.
  void drop(const std::string& uri);
  void shutdown(std::chrono::microseconds grace, std::function<void()> on_done);

 private:
  AgentsPort(wire::Loop& loop, std::shared_ptr<wire::Tls> tls, Answers answers);

  void judge();
  void judge_later();

  wire::Loop& loop_;
  const std::shared_ptr<wire::Tls> tls_;
  const std::shared_ptr<Answers> answers_;
  std::set<std::string> came_;  // nodes that entered while nothing could be said of them
  std::unique_ptr<wire::Server> http_;
  wire::Timer timer_;
};

}  // namespace dove::server
