// ReportQueue: the agent's reports, from the moment they are known until the controller has them.
//
// Reports leave in the order in which they were added, one message at a time; each message has all
// that are there, kReportsAtATime at most. A report stays until a message with it was acknowledged,
// so it survives a lost session and leaves again in the next one, in its place. Nothing is dropped,
// and the queue has no limit of its own: its length is bounded by what this node holds. It neither
// knows the rest of a message nor reads answers: its session does, and calls taken(), full() or
// close() for each message. Owned by Session. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "protocol/reports.h"
#include "wire/loop.h"

namespace dove::agent {

class ReportQueue {
 public:
  static constexpr std::size_t kReportsAtATime = 512;

  enum class When {
    kThisTurn,     // reports of one turn of the loop travel together
    kNow,          // if nothing is under way
    kStarted,      // soon: a task that ends at once tells its start and its end together
    kNextMessage,  // with whatever leaves next
  };

  struct Host {
    // Whether a message would have something to say even without reports.
    std::function<bool()> has_news;
    // Sends a message; its answer comes in a later turn. Numbers count from 1 in each session.
    std::function<void(std::uint64_t number, std::vector<protocol::Report> batch)> send;
  };

  ReportQueue(wire::Loop& loop, Host host) : loop_(loop), host_(std::move(host)) {}

  // Also while there is no session: it leaves in the next one.
  void add(protocol::Report report, When when = When::kThisTurn);
  // A session begins: nothing is under way. It says nothing yet.
  void open();
  // The session is over: what was under way leaves again in the next one.
  void close();
  bool is_open() const { return is_open_; }
  std::size_t size() const { return reports_.size(); }  // not yet acknowledged

  // Sends what there is, if there is anything, and no message is under way.
  void flush();
  // The session's heartbeat: sends a message, even an empty one, unless there was one since the
  // last call.
  void beat();
  // The message under way is recorded; says nothing more by itself, as the session may be over.
  // REQUIRES: it is under way; so for full().
  void taken();
  // The controller lives but cannot write now: says the same again in half a second.
  void full();

 private:
  void send();
  void post_flush(std::int64_t wait_us);

  wire::Loop& loop_;
  const Host host_;
  std::deque<protocol::Report> reports_;
  bool is_open_ = false;
  bool under_way_ = false;     // a message
  std::size_t in_flight_ = 0;  // the number of reports in it, the first ones
  std::uint64_t number_ = 0;
  bool sent_since_beat_ = false;
  bool flush_posted_ = false;
  wire::Timer flush_timer_;
  wire::Timer started_timer_;
};

}  // namespace dove::agent
