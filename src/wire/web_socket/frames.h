// Frames of WebSocket (RFC 6455): bytes on a connection as messages, and back.
//
// Pure; for the files of wire/ and their tests. A peer that breaks the rules, or sends more than
// was allowed, is reported as an error, after which the reader cannot be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::wire {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBytes = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// One whole frame, the last of its message. With `mask` (4 bytes) it is masked, as clients must.
std::string frame_bytes(Opcode opcode, std::string_view payload, std::string_view mask = {});

// The payload of a close frame: "" when there is no reason.
std::string close_payload(std::uint16_t code, std::string_view reason);
std::string_view close_reason(std::string_view payload);

class FrameReader {
 public:
  // A message in one or more frames, or a control frame between them; never kContinuation. False:
  // nothing more is wanted, and feed() ends.
  using OnMessage = std::function<bool(Opcode opcode, std::string_view payload)>;

  // `masked`: whether the peer masks its frames (a client does, a server does not).
  FrameReader(bool masked, std::size_t message_bytes_max)
      : masked_(masked), message_bytes_max_(message_bytes_max) {}

  // Errors (kInvalid "bad_frame", kTooLarge "message_too_large") say what is wrong.
  Result<void> feed(std::string_view bytes, const OnMessage& on_message);

 private:
  struct Head;
  Result<bool> read_head(std::string_view held, Head& head) const;
  Result<bool> take(const Head& head, std::string_view payload, const OnMessage& on_message);

  const bool masked_;
  const std::size_t message_bytes_max_;
  std::string held_;
  std::string message_;                  // of the frames before the last
  Opcode kind_ = Opcode::kContinuation;  // of message_; kContinuation: none has begun
};

}  // namespace dove::wire
