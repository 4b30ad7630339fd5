#include "backends/native/relays.h"

#include "wire/secret.h"

namespace dove::backends {
namespace {

constexpr std::size_t kSlow_bytes = 1 << 20;

void taken(const listener::Call& chunk) { chunk.responder->send(wire::Response{204, {}, ""}); }

Error nobody_reads() {
  return Error{ErrorKind::kNotFound, "no_such_relay", "nobody reads this any more", ""};
}

}  // namespace

std::string Relays::open(RelayReader reader) {
  std::string id = wire::random_token(12);
  readers_[id] = std::make_shared<RelayReader>(std::move(reader));
  return id;
}

void Relays::close(const std::string& id) { readers_.erase(id); }

bool Relays::is_slow(const std::string& id) const {
  const auto found = readers_.find(id);
  return found != readers_.end() && found->second->waiting_bytes() > kSlow_bytes;
}

void Relays::deliver(const std::string& id, CallPtr chunk) {
  const auto found = readers_.find(id);
  if (found == readers_.end() || found->second->nodes.count(chunk->caller.node) == 0) {
    return chunk->fail(nobody_reads());
  }
  const std::shared_ptr<RelayReader> reader = found->second;  // what is called may close it
  const bool is_broken = chunk->query_flag("broken");
  // A reader that stands still could not take its output up again: it hears of it once it reads.
  if (is_broken && is_slow(id)) return hold({id, std::move(chunk), is_broken});
  if (is_broken) {
    reader->on_broken();
    return taken(*chunk);
  }
  reader->on_chunk(*chunk, chunk->query_flag("end"));
  if (!is_slow(id)) return taken(*chunk);
  hold({id, std::move(chunk)});
}

void Relays::hold(Held held) {
  held_.push_back(std::move(held));
  if (!timer_.pending()) look_again();
}

void Relays::look_again() {
  std::vector<Held> held;
  held.swap(held_);
  for (Held& each : held) {
    if (!each.chunk->responder->peer_alive()) continue;  // its agent asks again, or is gone
    if (is_slow(each.id)) {
      held_.push_back(std::move(each));
    } else if (each.is_broken) {
      deliver(each.id, std::move(each.chunk));
    } else {
      taken(*each.chunk);
    }
  }
  if (held_.empty()) return;
  timer_ = loop_.after(std::chrono::milliseconds(10), [this] { look_again(); });
}

void Relays::node_gone(NodeId node) {
  std::vector<std::shared_ptr<RelayReader>> told;
  for (const auto& [id, reader] : readers_) {
    if (reader->nodes.count(node) != 0) told.push_back(reader);
  }
  for (const auto& reader : told) reader->on_node_gone(node);
}

}  // namespace dove::backends
