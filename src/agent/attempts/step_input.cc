#include "agent/attempts/step_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/aside/linux_user.h"

namespace dove::agent {
namespace {

constexpr int kLongestWait_ms = 20;
constexpr std::chrono::milliseconds kFetchAgain{500};

}  // namespace

StepInput::StepInput(wire::Loop& loop, Fetch fetch, std::function<void()> on_end)
    : loop_(loop), fetch_(std::move(fetch)), on_end_(std::move(on_end)) {}

StepInput::~StepInput() {
  *alive_ = false;
  for (auto& [rank, sink] : sinks_) ::close(sink.fd);
}

void StepInput::close(Sink& sink) {
  ::close(sink.fd);
  ::unlink(sink.path.c_str());
}

Result<void> StepInput::add(Rank rank, const std::string& path, const std::string& linux_user) {
  const auto failed = [&] {
    return Error{ErrorKind::kInternal, "step_input",
                 fmt::format("cannot make {}: {}", path, std::strerror(errno)), path};
  };
  const std::optional<LinuxUser> user =
      linux_user.empty() ? std::nullopt : known_linux_user(linux_user);
  ::unlink(path.c_str());
  if (::mkfifo(path.c_str(), 0600) != 0) return failed();
  if (user && ::chown(path.c_str(), user->uid, user->gid) != 0) return failed();
  // For reading too: it is open before its task is there.
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return failed();
  sinks_[rank] = Sink{fd, path, 0};
  return {};
}

void StepInput::begin() { fetch(); }

void StepInput::drop(Rank rank) {
  const auto found = sinks_.find(rank);
  if (found == sinks_.end()) return;
  close(found->second);
  sinks_.erase(found);
}

void StepInput::fetch() {
  if (over_ || sinks_.empty()) return;
  fetch_(offset_, [this, alive = std::weak_ptr<bool>(alive_)](Piece piece) {
    if (const auto held = alive.lock(); held != nullptr && *held) take(std::move(piece));
  });
}

void StepInput::take(Piece piece) {
  switch (piece.kind) {
    case Piece::Kind::kBytes:
      piece_ = std::move(piece.bytes);
      for (auto& [rank, sink] : sinks_) sink.written = 0;
      return write();
    case Piece::Kind::kNothingYet:
      return fetch();
    case Piece::Kind::kEnd:
      over_ = true;
      for (auto& [rank, sink] : sinks_) close(sink);
      sinks_.clear();
      return on_end_();
    case Piece::Kind::kFailed:
      timer_ = loop_.after(kFetchAgain, [this] { fetch(); });
      return;
  }
}

void StepInput::write() {
  bool whole = true;
  for (auto& [rank, sink] : sinks_) {
    while (sink.written < piece_.size()) {
      const ssize_t count =
          ::write(sink.fd, piece_.data() + sink.written, piece_.size() - sink.written);
      if (count <= 0) break;
      sink.written += static_cast<std::size_t>(count);
      wait_ms_ = 1;
    }
    whole = whole && sink.written == piece_.size();
  }
  if (whole) {
    offset_ += static_cast<std::int64_t>(piece_.size());
    piece_.clear();
    return fetch();
  }
  timer_ = loop_.after(std::chrono::milliseconds(wait_ms_), [this] { write(); });
  wait_ms_ = std::min(wait_ms_ * 2, kLongestWait_ms);
}

}  // namespace dove::agent
