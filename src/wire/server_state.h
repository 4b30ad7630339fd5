// What the connections of a Server share, and what the Server needs from them. For server.cc and
// those connections alone; loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "telemetry/metrics.h"
#include "wire/loop.h"
#include "wire/request_parser.h"
#include "wire/responder.h"
#include "wire/server_limits.h"
#include "wire/streams/handshakes.h"
#include "wire/streams/shares.h"
#include "wire/tcp.h"
#include "wire/world.h"

namespace dove::wire {

// One accepted connection, whatever it speaks.
class Accepted {
 public:
  virtual ~Accepted() = default;
  virtual void start() = 0;
  // In place of start(): answers with a problem, then closes.
  virtual void refuse(int status, const Error& error) = 0;
  // Ends at once; the server forgets the connection.
  virtual void drop() = 0;
  // The server is shutting down: ends when nothing is in progress, or as soon as that is so.
  virtual void wind_down() = 0;
  // Whose it is, for limits.
  virtual const std::string& party() const = 0;
};

// Each of these that arrives of a body, or is taken of an answer, restarts its time-out.
inline constexpr std::size_t kStepBytes = 1024 * 1024;
// How long a peer may take to close after its last answer was written.
inline constexpr std::chrono::seconds kLingerTime{2};
inline bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

struct ServerState : std::enable_shared_from_this<ServerState> {
  ServerState(Loop& of, ServerLimits given, Handler fn);

  void accept(std::unique_ptr<Stream> stream);
  void shake_hands(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls);
  void remove(const std::shared_ptr<Accepted>& connection);
  void drop_all();
  // The value of the Date header, made once a second.
  const std::string& date();
  ParserLimits parser_limits(const Stream& peer) const;
  void count_answer(int status, std::int64_t took_us);

  Loop& loop;
  const ServerLimits limits;
  const Handler handler;
  std::vector<std::unique_ptr<TcpListener>> listeners;
  std::shared_ptr<void> unix_listener;
  std::unique_ptr<Listening> elsewhere;  // in the Loop's World, in place of listeners
  std::unordered_set<std::shared_ptr<Accepted>> connections;
  std::unordered_set<const Accepted*> uncounted;  // they are refused, and not counted
  Handshakes handshakes;
  bool shutting_down = false;
  std::function<void()> on_drained;
  Timer grace;

 private:
  Shares connections_of_;
  std::size_t local_ = 0;  // connections of the Unix socket
  std::size_t refused_peers_ = 0;
  std::int64_t date_s_ = 0;
  std::string date_;
  telemetry::Gauge& open_;
  telemetry::Histogram& took_;
  std::vector<telemetry::Counter*> answers_;                   // by hundreds of the status
  std::vector<std::pair<int, telemetry::Counter*>> refusals_;  // by the status
};

}  // namespace dove::wire
