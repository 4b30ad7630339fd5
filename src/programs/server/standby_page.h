// StandbyPage: what a controller that stands by answers at the server's address.
//
// GET /healthz: it lives, and where agents call, 0 while nobody listens there. What the log alone
// tells it answers itself (server/standing), once it has the whole log and as long as it can follow
// it. Everything else: 503 `not_leader`, with whom to ask (header Dove-Leader); of /readyz it says
// how far it has followed, too. No body is taken.
//
// At the port of agents, with TLS, everything is answered so, once another controller leads. While
// the lease is still of a former life of this controller, nobody listens there: that is how the
// agents of that life learn that it has ended (docs/decisions/0002-fence.md). Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "programs/server/server_settings.h"
#include "programs/server/server_tls.h"
#include "programs/server/term.h"
#include "server/standing/agents_port.h"
#include "server/standing/standby_reads.h"
#include "wire/server.h"

namespace dove::programs {

class StandbyPage {
 public:
  // Listens. `standing` is asked at each request; `now_us` as of ServerTls::open(); `refused`
  // counts what it refuses.
  static Result<std::unique_ptr<StandbyPage>> open(wire::Loop& loop, const ServerSettings& settings,
                                                   std::function<std::int64_t()> now_us,
                                                   std::function<Standing()> standing,
                                                   std::shared_ptr<listener::RefusalTally> refused);

  // From here on it answers reads, from the log as folded up to this state; anew when it is called
  // again. REQUIRES: `controller` is not running; it and `log` outlive the page.
  Result<void> read_from(controller::Controller& controller, store::LogStore& log,
                         core::State folded);
  // The next batch; passed over before read_from().
  void fold(std::shared_ptr<const controller::CommittedBatch> batch);
  // For whoever listens in its place; nullptr without TLS.
  std::unique_ptr<ServerTls> take_tls() { return std::move(tls_); }
  // The same; nullptr: it does not listen there. Agents' connections go on.
  std::shared_ptr<server::AgentsPort> take_agents_port() { return std::move(agents_port_); }
  // Another one listens at the address: nobody is answered any more. What was asked of the log may
  // still come back to it, so it is destroyed a while later.
  void retire();

 private:
  StandbyPage(wire::Loop& loop, ServerSettings settings, std::function<Standing()> standing,
              std::shared_ptr<listener::RefusalTally> refused);
  void serve(wire::Request request, std::shared_ptr<wire::Responder> out);
  wire::Response refusal(const wire::Request& request) const;
  bool follows() const;
  void look();
  bool is_own(const store::LeaderSeen& leader) const;
  void listen_for_agents();

  wire::Loop& loop_;
  const ServerSettings settings_;
  const std::function<Standing()> standing_;
  const std::shared_ptr<listener::RefusalTally> refused_;
  std::unique_ptr<ServerTls> tls_;
  std::shared_ptr<server::AgentsPort> agents_port_;
  const std::uint64_t own_term_;                 // the last in which this controller led; 0: none
  std::int64_t listens_us_ = 0;                  // monotonic: not for agents before
  std::unique_ptr<server::StandbyReads> reads_;  // none: it has not the whole log yet
  wire::Timer look_timer_;
  std::unique_ptr<wire::Server> server_;
};

}  // namespace dove::programs
