// What the connections of a Server share. For server.cc and connection.cc alone; loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "telemetry/metrics.h"
#include "wire/loop.h"
#include "wire/request_parser.h"
#include "wire/responder.h"
#include "wire/server_limits.h"
#include "wire/tcp.h"
#include "wire/tls/tls_stream.h"
#include "wire/world.h"

namespace dove::wire {

class Connection;

// How many each party has of something; "" is this machine, which has no limit.
class Shares {
 public:
  // One more; false, and it does not count, when the party has `most`.
  bool enter(const std::string& party, std::size_t most);
  void leave(const std::string& party);

 private:
  std::unordered_map<std::string, std::size_t> counts_;
};

struct ServerState : std::enable_shared_from_this<ServerState> {
  ServerState(Loop& of, ServerLimits given, Handler fn);

  void accept(std::unique_ptr<Stream> stream);
  void shake_hands(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls);
  void remove(const std::shared_ptr<Connection>& connection);
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
  std::unordered_set<std::shared_ptr<Connection>> connections;
  std::unordered_set<const Connection*> uncounted;  // they are refused, and not counted
  struct Shaking {
    std::string party;
    Handshake handshake;
  };
  std::unordered_map<std::uint64_t, Shaking> shaking;
  bool shutting_down = false;
  std::function<void()> on_drained;
  Timer grace;

 private:
  void end_handshake(std::uint64_t id);
  bool drop_silent();

  Shares connections_of_;
  Shares handshakes_of_;
  std::size_t local_ = 0;  // connections of the Unix socket
  std::uint64_t last_handshake_ = 0;
  std::map<std::uint64_t, std::int64_t> silent_;  // that have said no hello, since when
  std::size_t refused_peers_ = 0;
  std::int64_t date_s_ = 0;
  std::string date_;
  telemetry::Gauge& open_;
  telemetry::Histogram& took_;
  telemetry::Counter& failed_;
  std::vector<telemetry::Counter*> answers_;  // by hundreds of the status
};

}  // namespace dove::wire
