#include "wire/web_socket/splice.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dove::wire {

Splice::Splice(Loop& loop, int fd, Channel sends, WebSocket& peer, std::function<void()> over)
    : loop_(loop),
      fd_(fd),
      write_fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)),
      sends_(sends),
      peer_(peer),
      over_(std::move(over)) {
  if (write_fd_ < 0) {  // out of descriptors: nothing can be carried
    reads_ = false;
    shut_ = true;
    look_over();
  } else {
    watch_input();
  }
}

Splice::~Splice() {
  read_watch_.cancel();
  write_watch_.cancel();
  ::close(fd_);
  if (write_fd_ >= 0) ::close(write_fd_);
}

void Splice::watch_input() {
  if (!reads_ || watching_ || sent_.left() == 0) return;
  watching_ = true;
  read_watch_ = loop_.watch_readable(fd_, [this] { read_some(); });
}

void Splice::read_some() {
  char bytes[kPiece_bytes];
  const ssize_t count = ::read(fd_, bytes, std::min(sizeof bytes, sent_.left()));
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    // After a reset nothing that is written arrives.
    if (count < 0) drop_output();
    return end_output();
  }
  const auto size = static_cast<std::size_t>(count);
  sent_.add(size);
  peer_.send_bytes(piece_bytes(sends_, {bytes, size}));
  if (sent_.left() > 0) return;
  watching_ = false;
  read_watch_.cancel();
}

void Splice::end_output() {
  reads_ = false;
  watching_ = false;
  read_watch_.cancel();
  peer_.send_text(R"({"end":true})");
  look_over();
}

bool Splice::hear_piece(std::string_view message) {
  const Result<Piece> piece = read_piece(message);
  const Channel other = sends_ == Channel::kStdin ? Channel::kStdout : Channel::kStdin;
  if (!piece.ok() || piece->channel != other || peer_ended_) return false;
  if (!received_.add(piece->bytes.size())) return false;
  if (piece->bytes.empty()) return true;
  waiting_.emplace_back(piece->bytes);
  write_some();
  return true;
}

bool Splice::hear_took(std::int64_t bytes) {
  if (!sent_.take(bytes)) return false;
  watch_input();
  look_over();
  return true;
}

void Splice::hear_end() {
  peer_ended_ = true;
  write_some();
}

void Splice::peer_over() {
  peer_over_ = true;
  peer_ended_ = true;
  reads_ = false;
  watching_ = false;
  read_watch_.cancel();
  write_some();
}

void Splice::write_some() {
  write_watch_.cancel();
  while (!waiting_.empty()) {
    const std::string& piece = waiting_.front();
    const ssize_t count =
        shut_ ? static_cast<ssize_t>(piece.size())
              : ::send(write_fd_, piece.data() + written_, piece.size() - written_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      write_watch_ = loop_.watch_writable(write_fd_, [this] { write_some(); });
      return;
    }
    if (count < 0) {
      shut_ = true;  // nobody reads it; the peer must not wait for that
      continue;
    }
    written_ = shut_ ? piece.size() : written_ + static_cast<std::size_t>(count);
    if (written_ < piece.size()) continue;
    received_.take(static_cast<std::int64_t>(piece.size()));
    say_took(passed_.add(piece.size()));
    written_ = 0;
    waiting_.pop_front();
  }
  if (peer_ended_) say_took(passed_.rest());
  if (peer_ended_ && !shut_) {
    shut_ = true;
    ::shutdown(write_fd_, SHUT_WR);
  }
  look_over();
}

void Splice::say_took(std::size_t bytes) {
  if (bytes > 0 && !peer_over_) peer_.send_text(fmt::format(R"({{"took":{}}})", bytes));
}

void Splice::drop_output() {
  shut_ = true;
  write_some();
}

// What was sent must have been taken: a WebSocket that is closed drops what its peer is slow to
// take.
void Splice::look_over() {
  const bool sent_all = !reads_ && (peer_over_ || sent_.left() == kWindow_bytes);
  if (!sent_all || !shut_ || !waiting_.empty() || over_timer_.pending()) return;
  over_timer_ = loop_.after(std::chrono::microseconds(0), [over = over_] { over(); });
}

}  // namespace dove::wire
