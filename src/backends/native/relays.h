// Relays: bytes on their way from agents to readers (logs, output of steps).
//
// Each relay has an id that its agents know and nobody can guess. A slow reader makes the agents'
// answers wait, so that nothing accumulates here. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/node_backend.h"
#include "listener/call.h"
#include "model/ids.h"
#include "wire/loop.h"

namespace dove::backends {

struct RelayReader {
  std::set<NodeId> nodes;  // who may send
  std::function<void(const listener::Call& chunk, bool end)> on_chunk;
  std::function<std::size_t()> waiting_bytes;  // not yet taken by the reader
  std::function<void(NodeId)> on_node_gone;    // its session ended
  std::function<void()> on_broken;             // a chunk was lost on its way, and no more will come
};

class Relays {
 public:
  explicit Relays(wire::Loop& loop) : loop_(loop) {}

  std::string open(RelayReader reader);
  void close(const std::string& id);
  // Answers an agent's chunk, later when the reader is slow; 404 when nobody reads.
  void deliver(const std::string& id, CallPtr chunk);
  void node_gone(NodeId node);

 private:
  struct Held {
    std::string id;
    CallPtr chunk;
    bool is_broken = false;  // it tells that the relay is
  };
  void hold(Held held);
  void look_again();
  bool is_slow(const std::string& id) const;

  wire::Loop& loop_;
  std::map<std::string, std::shared_ptr<RelayReader>> readers_;
  std::vector<Held> held_;
  wire::Timer timer_;
};

}  // namespace dove::backends
