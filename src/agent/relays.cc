#include "agent/relays.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <vector>

namespace dove::agent {
namespace {

constexpr std::size_t kChunk_bytes = 64 * 1024;

}  // namespace

struct Relays::Relay {
  std::string id;
  std::string tag;
  std::string path;
  std::int64_t offset = 0;
  bool follow = false;
  bool marks_end = false;  // tells the listener when it is over
  bool finished = false;   // nothing is written any more
  bool sending = false;
  bool closed = false;
  int fd = -1;
  int notify = -1;
  wire::FdWatch watch;
  wire::Timer retry;  // until the file exists

  ~Relay() {
    watch.cancel();
    if (notify >= 0) ::close(notify);
    if (fd >= 0) ::close(fd);
  }
};

Relays::Relays(wire::Loop& loop, std::string node, Send send)
    : loop_(loop), node_(std::move(node)), send_(std::move(send)) {}

Relays::~Relays() { clear(); }

void Relays::open(const std::string& id, const std::string& tag, const std::string& path,
                  std::int64_t offset, bool follow, bool marks_end) {
  auto relay = std::make_shared<Relay>();
  relay->id = id;
  relay->tag = tag;
  relay->path = path;
  relay->offset = offset;
  relay->follow = follow;
  relay->finished = !follow;
  relay->marks_end = marks_end;
  by_id_.emplace(id, relay);
  pump(relay);
}

void Relays::pump(const std::shared_ptr<Relay>& relay) {
  if (relay->closed || relay->sending) return;
  if (relay->fd < 0) {
    relay->fd = ::open(relay->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (relay->fd >= 0 && relay->follow) {
      relay->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
      inotify_add_watch(relay->notify, relay->path.c_str(), IN_MODIFY);
      const std::weak_ptr<Relay> weak = relay;
      relay->watch = loop_.watch_readable(relay->notify, [this, weak] {
        const std::shared_ptr<Relay> held = weak.lock();
        if (held == nullptr) return;
        char events[4096];
        while (read(held->notify, events, sizeof events) > 0) continue;
        pump(held);
      });
    } else if (relay->fd < 0 && !relay->finished) {
      const std::weak_ptr<Relay> weak = relay;
      relay->retry = loop_.after(std::chrono::milliseconds(5), [this, weak] {
        if (const std::shared_ptr<Relay> held = weak.lock()) pump(held);
      });
      return;
    }
  }
  std::string chunk(kChunk_bytes, '\0');
  const ssize_t n = relay->fd < 0 ? 0 : pread(relay->fd, chunk.data(), chunk.size(), relay->offset);
  const bool end = n <= 0 && relay->finished;
  if (n <= 0 && !end) return;
  if (end && !relay->marks_end) {
    drop(relay);
    return;
  }
  chunk.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  relay->offset += n > 0 ? n : 0;
  relay->sending = true;
  std::string target = fmt::format("/v1/agents/{}/relays/{}?end={}{}{}", node_, relay->id,
                                   end ? 1 : 0, relay->tag.empty() ? "" : "&", relay->tag);
  const std::weak_ptr<Relay> weak = relay;
  send_(std::move(target), std::move(chunk), [this, weak, end](bool go_on) {
    const std::shared_ptr<Relay> held = weak.lock();
    if (held == nullptr) return;
    held->sending = false;
    if (end || !go_on) {
      drop(held);
    } else {
      pump(held);
    }
  });
}

void Relays::drop(const std::shared_ptr<Relay>& relay) {
  relay->closed = true;
  const std::string id = relay->id;
  const auto [begin, end] = by_id_.equal_range(id);
  for (auto it = begin; it != end; ++it) {
    if (it->second == relay) {
      by_id_.erase(it);
      break;
    }
  }
  check_drained(id);
}

void Relays::finish(const std::string& path) {
  std::vector<std::shared_ptr<Relay>> found;
  for (const auto& [id, relay] : by_id_) {
    if (relay->path == path) found.push_back(relay);
  }
  for (const std::shared_ptr<Relay>& relay : found) {
    relay->finished = true;
    relay->retry.cancel();
    pump(relay);
  }
}

void Relays::close(const std::string& id) {
  const auto [begin, end] = by_id_.equal_range(id);
  for (auto it = begin; it != end; ++it) it->second->closed = true;
  by_id_.erase(begin, end);
  check_drained(id);
}

void Relays::when_drained(const std::string& id, std::function<void()> fn) {
  drained_[id] = std::move(fn);
  check_drained(id);
}

void Relays::check_drained(const std::string& id) {
  if (by_id_.count(id) != 0) return;
  const auto found = drained_.find(id);
  if (found == drained_.end()) return;
  const std::function<void()> fn = std::move(found->second);
  drained_.erase(found);
  fn();
}

void Relays::clear() {
  for (const auto& [id, relay] : by_id_) relay->closed = true;
  by_id_.clear();
  std::map<std::string, std::function<void()>> waiting;
  waiting.swap(drained_);
  for (const auto& [id, fn] : waiting) fn();
}

}  // namespace dove::agent
