#include "wire/web_socket/piece.h"

#include <utility>

namespace dove::wire {
namespace {

constexpr std::size_t kPortion_bytes = kWindow_bytes / 4;

}  // namespace

std::string piece_bytes(Channel channel, std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 1);
  out += static_cast<char>(channel);
  out += bytes;
  return out;
}

Result<Piece> read_piece(std::string_view message) {
  if (message.empty() || message.size() > kPiece_bytes + 1 ||
      static_cast<unsigned char>(message[0]) > static_cast<unsigned char>(Channel::kStderr)) {
    return Error{ErrorKind::kInvalid, "bad_piece",
                 "a piece names stdin, stdout or stderr and has at most 64 KiB", ""};
  }
  return Piece{static_cast<Channel>(message[0]), message.substr(1)};
}

bool Window::add(std::size_t bytes) {
  if (bytes > left()) return false;
  under_way_ += bytes;
  return true;
}

bool Window::take(std::int64_t bytes) {
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > under_way_) return false;
  under_way_ -= static_cast<std::size_t>(bytes);
  return true;
}

std::size_t Passed::add(std::size_t bytes) {
  unsaid_ += bytes;
  return unsaid_ < kPortion_bytes ? 0 : rest();
}

std::size_t Passed::rest() { return std::exchange(unsaid_, 0); }

}  // namespace dove::wire
