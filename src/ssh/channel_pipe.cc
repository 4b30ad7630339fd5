#include "ssh/channel_pipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dove::ssh {

using wire::Channel;

void ChannelPipe::join(wire::WebSocket& socket) {
  socket_ = &socket;
  read_held();
  end_input();
}

std::size_t ChannelPipe::send(std::string_view bytes) {
  std::size_t sent = 0;
  while (socket_ != nullptr && sent < bytes.size()) {
    const std::size_t size = std::min({bytes.size() - sent, to_task_.left(), wire::kPiece_bytes});
    if (size == 0) break;
    to_task_.add(size);
    socket_->send_bytes(wire::piece_bytes(Channel::kStdin, bytes.substr(sent, size)));
    sent += size;
  }
  return sent;
}

int ChannelPipe::take(std::string_view held) {
  const std::size_t sent = send(held);
  held_ = held.size() - sent;
  return static_cast<int>(sent);
}

void ChannelPipe::read_held() {
  char bytes[wire::kPiece_bytes];
  while (socket_ != nullptr && held_ > 0 && to_task_.left() > 0) {
    const std::size_t room = std::min({held_, to_task_.left(), sizeof bytes});
    const int count =
        ssh_channel_read_nonblocking(channel_, bytes, static_cast<std::uint32_t>(room), 0);
    if (count <= 0) return;
    const auto size = static_cast<std::size_t>(count);
    held_ -= std::min(held_, size);
    send({bytes, size});
  }
}

void ChannelPipe::client_ended() {
  client_ended_ = true;
  end_input();
}

void ChannelPipe::end_input() {
  if (!client_ended_ || end_told_ || held_ > 0 || socket_ == nullptr) return;
  end_told_ = true;
  socket_->send_text(R"({"end":true})");
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
  read_held();
  end_input();
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
  if (socket_ != nullptr) socket_->send_text(fmt::format(R"({{"took":{}}})", size));
  return true;
}

}  // namespace dove::ssh
