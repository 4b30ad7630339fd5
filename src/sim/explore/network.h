// Network: messages between agents, clients and controllers, which it delays, loses, doubles and
// holds back, in virtual time.
//
// What TCP promises is kept: on one stream nothing overtakes, is lost in the middle or comes twice
// as bytes; a call whose answer was lost may have been carried out, once, twice, or much later. A
// reset connection is known at both ends within half a second (decision 0002 counts on its margin);
// behind a cut link neither end learns of the other. A machine that stands still takes connections
// and reads nothing. One thread; outlives all Processes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "wire/world.h"

namespace dove::sim {

// How many of 100 000 messages meet it.
struct MessageFaults {
  std::uint64_t lost_request = 100;
  std::uint64_t late_request = 100;  // its sender was told that the connection broke
  std::uint64_t lost_answer = 100;
  std::uint64_t doubled = 200;
  std::uint64_t slow = 100;  // up to half a minute
  std::uint64_t doubled_line = 200;

  // This percentage of each.
  MessageFaults times(std::uint64_t percent) const;
};

struct StreamState;

// A request that has still to arrive, though nobody waits for an answer.
struct Stray {
  std::int64_t until_us = 0;
  std::string to;
  wire::Request request;
};

struct Host;

// A message that does not get through now.
struct Held {
  Host* from = nullptr;
  Host* to = nullptr;
  std::function<void()> arrive;
};

// What a process that stands still has to do.
struct Stalled {
  const void* process = nullptr;
  std::function<void()> call;
};

// A machine's place in the network.
struct Host {
  std::string name;
  bool cut = false;             // nothing passes, nobody is told
  bool powered = true;          // false: it sends nothing any more
  bool stopped = false;         // its processes stand still
  std::set<const Host*> apart;  // servers that it does not reach, nor they it
  std::deque<Held> held;        // what waits behind the cut, or to be read
  std::deque<Stalled> stalled;
  std::list<std::weak_ptr<StreamState>> streams;
  std::vector<Stray> strays;
};

class Process;

class Network {
 public:
  using Answer = std::function<void(Result<wire::Response>)>;

  Network(Agenda& agenda, std::uint64_t seed, MessageFaults faults)
      : agenda_(agenda), random_(seed), faults_(faults) {}

  void set_faults(const MessageFaults& faults) { faults_ = faults; }
  // Nothing is carried any more: hosts and processes may go in any order.
  void close() { closed_ = true; }
  void cut(Host& host);
  // What was held back arrives late, or (`reset`) is lost with its connections.
  void heal(Host& host, bool reset);
  // The same between a client and one server.
  void part(Host& client, const Host& server);
  void rejoin(Host& client, Host& server, bool reset);
  void stop(Host& host) { host.stopped = true; }
  // Its processes and threads go on, in no order but each one's own.
  void go_on(Host& host);
  // A connection between is reset: both ends are told.
  void reset_streams(Host& host);
  // The machine is gone without a word; what it holds open is reset when it is back.
  void power_off(Host& host);
  void power_on(Host& host);

  // For Lines and streams.
  Agenda& agenda() { return agenda_; }
  void request(Host& host, const std::string& to, wire::Request request, const Answer& answer);
  void open_stream(wire::Request request, const std::shared_ptr<StreamState>& stream);
  // `arrive` happens at the other end once the message gets through.
  void carry(Host& from, Host& to, std::function<void()> arrive);
  // Now, or when the machine goes on.
  static void run(Host& host, const void* process, std::function<void()> call);
  // The machine of that name; `if_none` before anybody has listened there.
  Host& find(const std::string& name, Host& if_none);
  bool doubles_line() { return hits(faults_.doubled_line); }

 private:
  friend class Process;
  struct Server {
    wire::Handler handler;
    std::weak_ptr<bool> alive;
  };
  bool hits(std::uint64_t of_100k) { return random_.below(100'000) < of_100k; }
  std::int64_t delay_us();
  void carry_late(Host& host, const std::string& to, wire::Request request);
  void arrive_late(Host& host, const std::string& to, const wire::Request& request);
  void arrive(Host& from, const std::string& to, wire::Request request, const Answer& answer);
  static Host* held_at(Host& from, Host& to);
  static void pass(Host& from, Host& to, std::function<void()> arrive);
  void release(Host& host);
  void reset(StreamState& stream);
  std::shared_ptr<Server> server_at(const std::string& name) const;

  Agenda& agenda_;
  Random random_;
  MessageFaults faults_;
  bool closed_ = false;
  std::map<std::string, Host*> hosts_;                      // of servers
  std::map<std::string, std::shared_ptr<Server>> servers_;  // that listen
};

}  // namespace dove::sim
