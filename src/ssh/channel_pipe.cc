#include "ssh/channel_pipe.h"

#include <algorithm>
#include <utility>

#include "protocol/link_words.h"

namespace dove::ssh {

using wire::Channel;

namespace {

// Behind which nothing more is taken from libssh.
constexpr std::size_t kWaitingBytes = 256 << 10;

}  // namespace

void ChannelPipe::join(wire::WebSocket& socket) {
  socket_ = &socket;
  send_some();
}

int ChannelPipe::take(std::string_view held) {
  held_ = held.size();
  if (pieces_bytes_ >= kWaitingBytes) return 0;
  for (std::string_view left = held; !left.empty();) {
    pieces_.emplace_back(left.substr(0, wire::kPiece_bytes));
    left.remove_prefix(pieces_.back().size());
  }
  pieces_bytes_ += held.size();
  held_ = 0;
  send_some();
  return static_cast<int>(held.size());
}

void ChannelPipe::read_held() {
  if (pieces_bytes_ >= kWaitingBytes) return;
  while (held_ > 0) {
    std::string piece(std::min(held_, wire::kPiece_bytes), '\0');
    const int count = ssh_channel_read_nonblocking(channel_, piece.data(),
                                                   static_cast<std::uint32_t>(piece.size()), 0);
    if (count <= 0) return;
    piece.resize(static_cast<std::size_t>(count));
    held_ -= std::min(held_, piece.size());
    pieces_bytes_ += piece.size();
    pieces_.push_back(std::move(piece));
  }
}

void ChannelPipe::send_some() {
  while (socket_ != nullptr && !pieces_.empty() && to_task_.left() >= pieces_.front().size()) {
    const std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    pieces_bytes_ -= piece.size();
    to_task_.add(piece.size());
    socket_->send_bytes(wire::piece_bytes(Channel::kStdin, piece));
    read_held();
  }
  end_input();
}

void ChannelPipe::client_ended() {
  client_ended_ = true;
  end_input();
}

void ChannelPipe::end_input() {
  if (!client_ended_ || end_told_ || held_ > 0 || !pieces_.empty() || socket_ == nullptr) return;
  end_told_ = true;
  socket_->send_text(protocol::link_word({.end = true}));
}

bool ChannelPipe::hear_piece(std::string_view message) {
  const Result<wire::Piece> piece = wire::read_piece(message);
  if (!piece.ok() || !from_task_.add(piece->bytes.size())) return false;
  waiting_.push_back({piece->channel, std::string(piece->bytes)});
  write_some();
  return true;
}

bool ChannelPipe::hear_took(std::int64_t bytes) {
  if (!to_task_.take(bytes)) return false;
  send_some();
  return true;
}

void ChannelPipe::tell(std::string text) {
  waiting_.push_back({Channel::kStderr, std::move(text), true});
  write_some();
}

void ChannelPipe::write_some() {
  if (std::exchange(writing_, true)) return;
  while (write_first()) {
  }
  writing_ = false;
}

// False: nothing more can be written now.
bool ChannelPipe::write_first() {
  if (waiting_.empty()) return false;
  const Waiting& first = waiting_.front();
  const std::size_t left = first.bytes.size() - written_;
  if (left > 0) {
    const auto room = std::min<std::size_t>(left, ssh_channel_window_size(channel_));
    if (room == 0) return false;
    const char* data = first.bytes.data() + written_;
    const auto size = static_cast<std::uint32_t>(room);
    const int count = first.channel == Channel::kStderr
                          ? ssh_channel_write_stderr(channel_, data, size)
                          : ssh_channel_write(channel_, data, size);
    if (count <= 0) return false;
    written_ += static_cast<std::size_t>(count);
    if (written_ < first.bytes.size()) return true;
  }
  const std::size_t size = first.bytes.size();
  const bool is_ours = first.is_ours;
  waiting_.pop_front();
  written_ = 0;
  if (is_ours) return true;
  from_task_.take(static_cast<std::int64_t>(size));
  if (socket_ != nullptr) {
    socket_->send_text(protocol::link_word({.took = static_cast<std::int64_t>(size)}));
  }
  return true;
}

}  // namespace dove::ssh
