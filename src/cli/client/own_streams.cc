#include "cli/client/own_streams.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace dove::cli {

StdinReader::StdinReader(wire::Loop& loop, std::size_t piece_bytes,
                         std::function<void(std::string)> on_piece)
    : loop_(loop),
      piece_bytes_(piece_bytes),
      on_piece_(std::move(on_piece)),
      stop_fd_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

StdinReader::~StdinReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  const std::uint64_t one = 1;
  while (::write(stop_fd_, &one, sizeof one) != static_cast<ssize_t>(sizeof one)) {
  }
  thread_.join();
  close(stop_fd_);
}

void StdinReader::next() {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
  }
  changed_.notify_all();
}

void StdinReader::run() {
  std::string piece(piece_bytes_, '\0');
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return wanted_ || stopping_; });
      if (stopping_) return;
    }
    pollfd what[] = {{STDIN_FILENO, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    if (poll(what, 2, -1) < 0) continue;
    if (what[1].revents != 0) return;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    {
      const std::lock_guard lock(mutex_);
      wanted_ = false;
    }
    std::string bytes = got > 0 ? piece.substr(0, static_cast<std::size_t>(got)) : "";
    loop_.post([this, bytes = std::move(bytes)]() mutable { on_piece_(std::move(bytes)); });
    if (got <= 0) return;
  }
}

OutputWriter::OutputWriter(wire::Loop& loop, std::function<void(std::size_t)> on_written,
                           std::function<void()> on_gone)
    : loop_(loop),
      on_written_(std::move(on_written)),
      on_gone_(std::move(on_gone)),
      thread_([this] { run(); }) {}

OutputWriter::~OutputWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OutputWriter::write(int fd, std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    queue_.emplace_back(fd, std::move(bytes));
  }
  changed_.notify_all();
}

void OutputWriter::run() {
  while (true) {
    std::pair<int, std::string> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !queue_.empty() || stopping_; });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    const auto& [fd, bytes] = next;
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t count = ::write(fd, bytes.data() + at, bytes.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) {  // somebody made our terminal non-blocking
        pollfd what{fd, POLLOUT, 0};
        poll(&what, 1, -1);
        continue;
      }
      if (count < 0) {
        loop_.post([this] { on_gone_(); });
        return;
      }
      at += static_cast<std::size_t>(count);
    }
    loop_.post([this, size = bytes.size()] { on_written_(size); });
  }
}

}  // namespace dove::cli
