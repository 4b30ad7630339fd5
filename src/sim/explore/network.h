// Network: messages between agents, clients and one controller, which it delays, loses, doubles and
// holds back, in virtual time.
//
// What TCP promises is kept: on one stream nothing overtakes, is lost in the middle or comes twice
// as bytes; a call whose answer was lost may have been carried out, once, twice, or much later. A
// reset connection is known at both ends within half a second (decision 0002 counts on its margin);
// behind a cut link neither end learns of the other. One thread; outlives all Processes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
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

  // So many of a hundred of each.
  MessageFaults times(std::uint64_t percent) const;
};

struct StreamState;

// A request that has still to arrive, though nobody waits for an answer.
struct Stray {
  std::int64_t until_us = 0;
  wire::Request request;
};

// A machine's place in the network.
struct Host {
  std::string name;
  bool cut = false;                        // nothing passes, nobody is told
  bool powered = true;                     // false: it sends nothing any more
  std::deque<std::function<void()>> held;  // what waits behind the cut
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
  // A connection between is reset: both ends are told.
  void reset_streams(Host& host);
  // The machine is gone without a word; what it holds open is reset when it is back.
  void power_off(Host& host);
  void power_on(Host& host);

  // For Lines and streams.
  Agenda& agenda() { return agenda_; }
  void request(Host& host, wire::Request request, const Answer& answer);
  void open_stream(Host& host, wire::Request request, const std::shared_ptr<StreamState>& stream);
  // `arrive` happens at the other end once the message gets through.
  void carry(Host& host, std::function<void()> arrive);
  bool doubles_line() { return hits(faults_.doubled_line); }

 private:
  friend class Process;
  struct Server {
    wire::Handler handler;
    std::weak_ptr<bool> alive;
  };
  bool hits(std::uint64_t of_100k) { return random_.below(100'000) < of_100k; }
  std::int64_t delay_us();
  void carry_late(Host& host, wire::Request request);
  void arrive_late(Host& host, const wire::Request& request);
  void arrive(Host& from, wire::Request request, const Answer& answer);

  Agenda& agenda_;
  Random random_;
  MessageFaults faults_;
  bool closed_ = false;
  std::shared_ptr<Server> server_;  // null: nobody listens
};

}  // namespace dove::sim
