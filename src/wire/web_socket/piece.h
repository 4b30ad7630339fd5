// Pieces: the streams of a command that runs elsewhere, on one WebSocket (api/agent-protocol.md).
//
// A binary message is one piece: a byte that identifies the stream, then its bytes. The sender
// counts what the receiver has not yet passed on (reported as `took`), and stops at the window. A
// slow reader thus slows the command down, memory stays bounded, and words about the command (its
// end, a signal) are never stuck behind its data. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::wire {

enum class Channel : std::uint8_t { kStdin = 0, kStdout = 1, kStderr = 2 };

inline constexpr std::size_t kPiece_bytes = 64 << 10;    // at most, without the first byte
inline constexpr std::size_t kWindow_bytes = 512 << 10;  // of stdin; of stdout and stderr together

struct Piece {
  Channel channel = Channel::kStdin;
  std::string_view bytes;
};

std::string piece_bytes(Channel channel, std::string_view bytes);
// Error kInvalid "bad_piece".
Result<Piece> read_piece(std::string_view message);

// What is on its way to the peer, or has come and was not passed on: each end counts for itself.
class Window {
 public:
  std::size_t left() const { return kWindow_bytes - under_way_; }
  // False: that is more than there is room for, or than was under way; the peer is broken.
  bool add(std::size_t bytes);
  bool take(std::int64_t bytes);

 private:
  std::size_t under_way_ = 0;
};

// Bytes that were passed on and not yet acknowledged with `took`. An acknowledgement for each small
// piece would cost as much as the piece, so they go out in portions, long before the sender's
// window is used up.
class Passed {
 public:
  // The bytes to acknowledge now; 0: none yet.
  std::size_t add(std::size_t bytes);
  // All others: a peer that sends no more waits for them.
  std::size_t rest();

 private:
  std::size_t unsaid_ = 0;
};

}  // namespace dove::wire
