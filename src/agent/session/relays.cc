#include "agent/session/relays.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/aside/linux_user.h"
#include "agent/tasks/tail.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::size_t kChunk_bytes = 64 * 1024;
constexpr std::int64_t kNobody = std::int64_t{1} << 40;  // no user at all
constexpr std::size_t kThreads = 64;
constexpr int kFirstWait_ms = 5;
constexpr int kWaitMax_ms = 250;
constexpr int kTellAgainMax_ms = 2'000;

}  // namespace

// The file's end of a relay; side threads only.
class Relays::File {
 public:
  explicit File(Source source) : source_(std::move(source)) {}

  // Whether there was such a file yet.
  bool is_open() const { return tail_ && tail_->is_open(); }

  // At the end of what there is, `notify` becomes readable when there is more.
  Result<FileTail::Chunk> read(int notify) {
    if (!tail_) {
      TRY_ASSIGN(const std::int64_t owner, owner_uid());
      tail_.emplace(source_.path, source_.offset, owner);
    }
    Result<FileTail::Chunk> chunk = tail_->read(kChunk_bytes);
    if (chunk.ok() && chunk->restarted) watched_ = false;
    if (!chunk.ok() || !chunk->bytes.empty() || watched_) return chunk;
    watched_ = watch(notify);
    return watched_ ? tail_->read(kChunk_bytes) : std::move(chunk);  // what came before the watch
  }

 private:
  Result<std::int64_t> owner_uid() const {
    if (!source_.owner) return -1;
    if (source_.owner->empty()) return kNobody;
    if (const auto known = known_linux_user(*source_.owner)) return std::int64_t{known->uid};
    const Result<LinuxUser> user = look_up_linux_user(*source_.owner);
    if (user.ok()) return std::int64_t{user->uid};
    if (user.error().code == kUsers_away) return user.error();
    return kNobody;
  }
  // Best effort, as the timer looks too. `notify` is an inotify instance of the loop, whose
  // descriptors mean nothing here: a copy of it is fetched.
  bool watch(int notify) const {
    if (notify < 0) return false;
    const int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
    if (self < 0) return false;
    const int copy = static_cast<int>(::syscall(SYS_pidfd_getfd, self, notify, 0));
    ::close(self);
    if (copy < 0) return false;
    const int added = ::inotify_add_watch(copy, source_.path.c_str(), IN_MODIFY | IN_MOVE_SELF);
    ::close(copy);
    return added >= 0;
  }

  const Source source_;
  std::optional<FileTail> tail_;
  bool watched_ = false;
};

struct Relays::Relay {
  Relay(SideThreads& on, std::string of, std::string with_tag, const Source& of_file, Send line)
      : side(on),
        id(std::move(of)),
        tag(std::move(with_tag)),
        source(of_file),
        lane(source.owner.value_or("-") + "|" + mount_of(source.path)),
        file(std::make_shared<File>(source)),
        send(std::move(line)),
        notify(source.follow ? ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1),
        finished(!source.follow) {}
  ~Relay() {
    watch.cancel();
    if (notify >= 0) ::close(notify);
    side.run(
        lane, [last = std::move(file)] {}, nullptr);  // to close may wait too
  }

  SideThreads& side;
  const std::string id;
  const std::string tag;
  Source source;
  const std::string lane;
  std::shared_ptr<File> file;
  const Send send;
  const int notify;  // becomes readable when the file changes; -1: a system has few of them
  bool marks_end = false;
  bool has_moved = false;  // since the file was opened or looked for
  bool finished = false;   // nothing is written any more
  bool busy = false;       // reading or sending
  bool closed = false;
  int wait_ms = kFirstWait_ms;
  wire::FdWatch watch;
  wire::Timer again;
};

// What one look at the file brought.
struct Relays::Reading {
  Result<FileTail::Chunk> chunk = FileTail::Chunk{};
  bool is_open = false;
  bool finished = false;  // when it was asked for: an end is one
};

Relays::Relays(wire::Loop& loop, std::string node, NewLine new_line)
    : loop_(loop), side_(loop, kThreads), node_(std::move(node)), new_line_(std::move(new_line)) {}

// Their files are closed aside, while there are side threads.
Relays::~Relays() { by_id_.clear(); }

void Relays::open(const std::string& id, const std::string& tag, const Source& source,
                  bool marks_end) {
  auto relay = std::make_shared<Relay>(side_, id, tag, source, new_line_());
  relay->marks_end = marks_end;
  by_id_.emplace(id, relay);
  pump(relay);
}

// At the end of what there is: looks again when the file changes, and now and then, as it may not
// exist yet or have been rotated.
void Relays::wait(const std::shared_ptr<Relay>& relay) {
  const std::weak_ptr<Relay> weak = relay;
  if (relay->notify >= 0) {
    relay->watch = loop_.watch_readable(relay->notify, [this, weak] {
      if (const std::shared_ptr<Relay> held = weak.lock()) pump(held);
    });
  }
  relay->again = loop_.after(std::chrono::milliseconds(relay->wait_ms), [this, weak] {
    if (const std::shared_ptr<Relay> held = weak.lock()) pump(held);
  });
  relay->wait_ms = std::min(relay->wait_ms * 2, kWaitMax_ms);
}

void Relays::pump(const std::shared_ptr<Relay>& relay) {
  if (relay->closed || relay->busy) return;
  relay->again.cancel();
  relay->watch.cancel();
  // What has changed until now is read below.
  char events[4096];
  while (relay->notify >= 0 && ::read(relay->notify, events, sizeof events) > 0) continue;
  relay->busy = true;
  const auto reading = std::make_shared<Reading>();
  reading->finished = relay->finished;
  const std::weak_ptr<Relay> weak = relay;
  side_.run(
      relay->lane,
      [file = relay->file, notify = relay->notify, reading] {
        reading->chunk = file->read(notify);
        reading->is_open = file->is_open();
      },
      [this, weak, reading] {
        const std::shared_ptr<Relay> held = weak.lock();
        if (held != nullptr && !held->closed) took(held, std::move(*reading));
      });
}

void Relays::took(const std::shared_ptr<Relay>& relay, Reading reading) {
  relay->busy = false;
  if (std::exchange(relay->has_moved, false) && !reading.is_open) {
    relay->file = std::make_shared<File>(relay->source);
    return pump(relay);
  }
  FileTail::Chunk chunk;
  bool end = false;
  if (reading.chunk.ok()) {
    chunk = std::move(reading.chunk).value();
    end = chunk.bytes.empty() && reading.finished;
  } else {
    telemetry::log(telemetry::Level::kWarning, "output_unreadable",
                   {{"node", node_}, {"why", reading.chunk.error().message}});
    if (reading.chunk.error().code == kUsers_away) return tell_broken(relay);
    end = true;
  }
  if (chunk.bytes.empty() && !end && !relay->finished) return wait(relay);
  if (chunk.bytes.empty() && !end) return pump(relay);  // finished since
  if (end && !relay->marks_end) return drop(relay);
  relay->wait_ms = kFirstWait_ms;
  relay->busy = true;
  std::string target = fmt::format("/v1/agents/{}/relays/{}?end={}{}{}", node_, relay->id,
                                   end ? 1 : 0, relay->tag.empty() ? "" : "&", relay->tag);
  const std::weak_ptr<Relay> weak = relay;
  relay->send(std::move(target), std::move(chunk.bytes), [this, weak, end](Sent sent) {
    const std::shared_ptr<Relay> held = weak.lock();
    if (held == nullptr || held->closed) return;
    if (sent == Sent::kBroken) return tell_broken(held);
    held->busy = false;
    if (end || sent == Sent::kNobodyReads) {
      drop(held);
    } else {
      pump(held);
    }
  });
}

// The session goes on, so nothing else tells the reader.
void Relays::tell_broken(const std::shared_ptr<Relay>& relay) {
  relay->busy = true;
  const std::weak_ptr<Relay> weak = relay;
  std::string target = fmt::format("/v1/agents/{}/relays/{}?end=0&broken=1{}{}", node_, relay->id,
                                   relay->tag.empty() ? "" : "&", relay->tag);
  relay->send(std::move(target), "", [this, weak](Sent sent) {
    const std::shared_ptr<Relay> held = weak.lock();
    if (held == nullptr || held->closed) return;
    if (sent != Sent::kBroken) return drop(held);
    held->again = loop_.after(std::chrono::milliseconds(held->wait_ms), [this, weak] {
      const std::shared_ptr<Relay> again = weak.lock();
      if (again != nullptr && !again->closed) tell_broken(again);
    });
    held->wait_ms = std::min(held->wait_ms * 2, kTellAgainMax_ms);
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
    if (relay->source.path == path) found.push_back(relay);
  }
  for (const std::shared_ptr<Relay>& relay : found) {
    relay->finished = true;
    pump(relay);
  }
}

void Relays::moved(const std::string& from, const std::string& to) {
  for (const auto& [id, relay] : by_id_) {
    if (!relay->source.path.starts_with(from + "/")) continue;
    relay->source.path.replace(0, from.size(), to);
    relay->has_moved = true;
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
