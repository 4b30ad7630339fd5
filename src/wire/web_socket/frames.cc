#include "wire/web_socket/frames.h"

#include <cstring>

namespace dove::wire {
namespace {

constexpr std::size_t kControlBytesMax = 125;
constexpr std::uint8_t kLast = 0x80;
constexpr std::uint8_t kMasked = 0x80;

Error bad_frame(const char* what) {
  return Error{ErrorKind::kInvalid, "bad_frame", std::string("the peer broke WebSocket: ") + what,
               ""};
}

bool is_control(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

void apply_mask(char* bytes, std::size_t size, const char* mask) {
  std::uint64_t twice = 0;  // eight bytes at a time: whole files pass here
  std::memcpy(&twice, mask, 4);
  std::memcpy(reinterpret_cast<char*>(&twice) + 4, mask, 4);
  std::size_t i = 0;
  for (; i + sizeof twice <= size; i += sizeof twice) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes + i, sizeof eight);
    eight ^= twice;
    std::memcpy(bytes + i, &eight, sizeof eight);
  }
  for (; i < size; ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i % 4]);
}

}  // namespace

struct FrameReader::Head {
  Opcode opcode = Opcode::kContinuation;
  bool last = false;
  std::size_t head_bytes = 0;
  std::size_t payload_bytes = 0;
  char mask[4] = {0, 0, 0, 0};
};

std::string frame_bytes(Opcode opcode, std::string_view payload, std::string_view mask) {
  std::string out;
  out.reserve(payload.size() + 14);
  out += static_cast<char>(kLast | static_cast<std::uint8_t>(opcode));
  const std::uint8_t flag = mask.empty() ? 0 : kMasked;
  const std::uint64_t size = payload.size();
  int length_bytes = 0;
  if (size <= kControlBytesMax) {
    out += static_cast<char>(flag | size);
  } else if (size <= 0xFFFF) {
    out += static_cast<char>(flag | 126);
    length_bytes = 2;
  } else {
    out += static_cast<char>(flag | 127);
    length_bytes = 8;
  }
  for (int at = length_bytes - 1; at >= 0; --at) out += static_cast<char>(size >> (8 * at) & 0xFF);
  out += mask;
  const std::size_t begin = out.size();
  out += payload;
  if (!mask.empty()) apply_mask(out.data() + begin, payload.size(), mask.data());
  return out;
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string out{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  out += reason.substr(0, kControlBytesMax - 2);
  return out;
}

std::string_view close_reason(std::string_view payload) {
  return payload.size() <= 2 ? std::string_view() : payload.substr(2);
}

// False: more is needed.
Result<bool> FrameReader::read_head(std::string_view held, Head& head) const {
  const auto byte = [held](std::size_t at) { return static_cast<std::uint8_t>(held[at]); };
  if (held.size() < 2) return false;
  if ((byte(0) & 0x70) != 0) return bad_frame("reserved bits are set");
  head.last = (byte(0) & kLast) != 0;
  head.opcode = static_cast<Opcode>(byte(0) & 0x0F);
  switch (head.opcode) {
    case Opcode::kContinuation:
    case Opcode::kText:
    case Opcode::kBytes:
    case Opcode::kClose:
    case Opcode::kPing:
    case Opcode::kPong:
      break;
    default:
      return bad_frame("there is no such kind of frame");
  }
  if (((byte(1) & kMasked) != 0) != masked_) {
    return bad_frame(masked_ ? "a client's frame is not masked" : "a server's frame is masked");
  }
  const std::uint8_t length = byte(1) & 0x7F;
  const std::size_t length_bytes = length == 126 ? 2 : length == 127 ? 8 : 0;
  head.head_bytes = 2 + length_bytes + (masked_ ? 4 : 0);
  if (is_control(head.opcode) && (length > kControlBytesMax || !head.last)) {
    return bad_frame("a control frame is too long or in parts");
  }
  if (held.size() < head.head_bytes) return false;
  std::uint64_t size = length;
  if (length_bytes > 0) size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) size = size << 8 | byte(2 + i);
  if (size > message_bytes_max_ || message_.size() + size > message_bytes_max_) {
    return Error{ErrorKind::kTooLarge, "message_too_large",
                 "a message on this connection has at most " + std::to_string(message_bytes_max_) +
                     " bytes; send it in smaller ones",
                 ""};
  }
  head.payload_bytes = static_cast<std::size_t>(size);
  for (std::size_t i = 0; masked_ && i < 4; ++i) head.mask[i] = held[head.head_bytes - 4 + i];
  return true;
}

// False: its user wants no more.
Result<bool> FrameReader::take(const Head& head, std::string_view payload,
                               const OnMessage& on_message) {
  if (is_control(head.opcode)) return on_message(head.opcode, payload);
  const bool goes_on = head.opcode == Opcode::kContinuation;
  if (goes_on == (kind_ == Opcode::kContinuation)) {
    return bad_frame("its frames do not make messages");
  }
  if (!goes_on && head.last) return on_message(head.opcode, payload);
  if (!goes_on) kind_ = head.opcode;
  message_ += payload;
  if (!head.last) return true;
  const std::string whole = std::move(message_);
  const Opcode kind = kind_;
  message_.clear();
  kind_ = Opcode::kContinuation;
  return on_message(kind, whole);
}

// What is used of held_ goes once, at the end: many small frames cost no more than a large one.
Result<void> FrameReader::feed(std::string_view bytes, const OnMessage& on_message) {
  held_ += bytes;
  std::size_t used = 0;
  for (;;) {
    const std::string_view held = std::string_view(held_).substr(used);
    Head head;
    TRY_ASSIGN(const bool has_head, read_head(held, head));
    if (!has_head || held.size() < head.head_bytes + head.payload_bytes) {
      held_.erase(0, used);
      return {};
    }
    char* const payload = held_.data() + used + head.head_bytes;
    if (masked_) apply_mask(payload, head.payload_bytes, head.mask);
    used += head.head_bytes + head.payload_bytes;
    TRY_ASSIGN(const bool more, take(head, {payload, head.payload_bytes}, on_message));
    if (!more) return {};  // its user may have destroyed it
  }
}

}  // namespace dove::wire
