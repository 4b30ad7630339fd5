#include "agent/session/relays.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "agent/tasks/tail.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::size_t kChunk_bytes = 64 * 1024;
constexpr int kFirstWait_ms = 5;
constexpr int kWaitMax_ms = 250;

}  // namespace

struct Relays::Relay {
  Relay(std::string of, std::string with_tag, const Source& source, Send line)
      : id(std::move(of)),
        tag(std::move(with_tag)),
        path(source.path),
        tail(source.path, source.offset, source.owner_uid),
        send(std::move(line)),
        finished(!source.follow) {}
  ~Relay() { stop_watching(); }

  // Best effort (a system has few inotify instances): the timer looks as well.
  void watch_file(wire::Loop& loop, std::function<void()> on_change) {
    if (notify >= 0) return;
    notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (notify < 0) return;
    if (inotify_add_watch(notify, path.c_str(), IN_MODIFY | IN_MOVE_SELF) < 0) {
      return stop_watching();
    }
    watch = loop.watch_readable(notify, std::move(on_change));
  }
  void stop_watching() {
    watch.cancel();
    if (notify >= 0) ::close(notify);
    notify = -1;
  }

  const std::string id;
  const std::string tag;
  const std::string path;
  FileTail tail;
  const Send send;
  bool marks_end = false;
  bool finished = false;  // nothing is written any more
  bool sending = false;
  bool closed = false;
  int wait_ms = kFirstWait_ms;
  int notify = -1;
  wire::FdWatch watch;
  wire::Timer again;
};

Relays::Relays(wire::Loop& loop, std::string node, NewLine new_line)
    : loop_(loop), node_(std::move(node)), new_line_(std::move(new_line)) {}

Relays::~Relays() = default;

void Relays::open(const std::string& id, const std::string& tag, const Source& source,
                  bool marks_end) {
  auto relay = std::make_shared<Relay>(id, tag, source, new_line_());
  relay->marks_end = marks_end;
  by_id_.emplace(id, relay);
  pump(relay);
}

// At the end of what there is: looks again when the file changes, and now and then, as it may not
// exist yet or have been rotated.
void Relays::wait(const std::shared_ptr<Relay>& relay) {
  const std::weak_ptr<Relay> weak = relay;
  relay->watch_file(loop_, [this, weak] {
    const std::shared_ptr<Relay> held = weak.lock();
    if (held == nullptr) return;
    char events[4096];
    while (read(held->notify, events, sizeof events) > 0) continue;
    pump(held);
  });
  relay->again = loop_.after(std::chrono::milliseconds(relay->wait_ms), [this, weak] {
    if (const std::shared_ptr<Relay> held = weak.lock()) pump(held);
  });
  relay->wait_ms = std::min(relay->wait_ms * 2, kWaitMax_ms);
}

void Relays::pump(const std::shared_ptr<Relay>& relay) {
  if (relay->closed || relay->sending) return;
  relay->again.cancel();
  FileTail::Chunk chunk;
  bool end = false;
  if (Result<FileTail::Chunk> read = relay->tail.read(kChunk_bytes); read.ok()) {
    chunk = std::move(read).value();
    end = chunk.bytes.empty() && relay->finished;
  } else {
    telemetry::log(telemetry::Level::kWarning, "output_unreadable",
                   {{"node", node_}, {"why", read.error().message}});
    end = true;
  }
  if (chunk.bytes.empty() && !end) return wait(relay);
  if (end && !relay->marks_end) return drop(relay);
  if (chunk.restarted) relay->stop_watching();
  relay->wait_ms = kFirstWait_ms;
  relay->sending = true;
  std::string target = fmt::format("/v1/agents/{}/relays/{}?end={}{}{}", node_, relay->id,
                                   end ? 1 : 0, relay->tag.empty() ? "" : "&", relay->tag);
  const std::weak_ptr<Relay> weak = relay;
  relay->send(std::move(target), std::move(chunk.bytes), [this, weak, end](bool go_on) {
    const std::shared_ptr<Relay> held = weak.lock();
    if (held == nullptr || held->closed) return;
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
