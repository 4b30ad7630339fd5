// Ring: an all-reduce between the nodes of an attempt, over TCP, before its tasks start.
//
// Each node sends only to the next. A vector of whole numbers, whose sum is known beforehand, is
// summed chunk by chunk around the ring and passed around once more (the ring all-reduce of
// Patarasuk and Yuan, 2009), as HTTP posts to the other agent's RingHub. Each link is thus used,
// each byte is checked, and a link that fails or is too slow is identified by its two ends. Loop
// thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/async_client.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::agent {

class Ring;

// Where the chunks of this node's rings arrive. It outlives its rings.
class RingHub {
 public:
  explicit RingHub(wire::Loop& loop);
  // With `tls` peers show a certificate of their own, too.
  Result<void> listen(const std::string& host, std::shared_ptr<const wire::Tls> tls = nullptr) {
    return server_.listen(host, 0, std::move(tls));
  }
  std::uint16_t port() const { return server_.port(); }

 private:
  friend class Ring;
  wire::ServerLimits limits();
  void handle(const wire::Request& request, const std::shared_ptr<wire::Responder>& responder);

  std::map<std::string, Ring*> rings_;
  wire::Server server_;
};

struct RingPeer {
  std::string name;
  std::string host;
  std::uint16_t port = 0;
};

struct RingPlan {
  std::string key;                                 // of the attempt
  std::string secret;                              // that its nodes share
  std::size_t rank = 0;                            // this node's place in `peers`
  std::vector<RingPeer> peers;                     // at least two, the same everywhere
  std::shared_ptr<const wire::Tls> tls = nullptr;  // toward the next node; nullptr: plain
  std::size_t words = 512 * 1024;
  std::int64_t bytes_per_s_min = 0;  // from this node to the next; 0: any
  std::chrono::milliseconds limit{20'000};

  const RingPeer& next() const { return peers[(rank + 1) % peers.size()]; }
};

struct RingFailure {
  std::string peer;  // the link to it failed
  std::string evidence;
};

class Ring {
 public:
  // `done` is called once, later, unless the ring is gone by then. REQUIRES: no ring of that key.
  Ring(wire::Loop& loop, RingHub& hub, RingPlan plan,
       std::function<void(std::optional<RingFailure>)> done);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

 private:
  friend class RingHub;
  bool knows(const std::string& secret) const;
  // The status of the answer.
  int arrived(std::size_t step, const std::string& secret, const std::string& bytes);
  void send();
  void sent(std::int64_t since_us, const Result<wire::Response>& answer);
  void advance();
  void end(std::optional<RingFailure> failure);
  void too_late();
  std::size_t steps() const { return 2 * (plan_.peers.size() - 1); }
  std::size_t chunk_begin(std::size_t chunk) const;
  std::size_t chunk_sent(std::size_t step) const;
  const RingPeer& next() const { return plan_.next(); }

  wire::Loop& loop_;
  RingHub& hub_;
  RingPlan plan_;
  std::function<void(std::optional<RingFailure>)> done_;
  wire::AsyncClient client_;
  std::vector<std::uint64_t> words_;
  std::size_t step_ = 0;
  bool is_sent_ = false;  // of this step
  std::map<std::size_t, std::string> arrived_;
  std::string trouble_;  // of the last try to send; "": none, or the peer is not ready
  std::int64_t sent_bytes_ = 0;
  std::int64_t sent_us_ = 0;
  bool ended_ = false;
  wire::Timer again_timer_;
  wire::Timer limit_timer_;
  wire::Timer end_timer_;
};

}  // namespace dove::agent
