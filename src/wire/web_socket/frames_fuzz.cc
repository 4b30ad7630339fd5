// Any bytes as frames of a WebSocket: the same messages in pieces as whole, none longer than was
// allowed; and what was received can be sent on.
//
// seeds: tests/seeds/frames
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "wire/web_socket/frames.h"

namespace dove::wire {
namespace {

constexpr std::size_t kMost_bytes = 256;

struct Heard {
  std::vector<std::pair<Opcode, std::string>> messages;
  bool refused = false;
};

Heard hear(std::string_view bytes, std::size_t step, bool masked) {
  Heard heard;
  FrameReader reader(masked, kMost_bytes);
  while (!bytes.empty() && !heard.refused) {
    const Result<void> fed =
        reader.feed(bytes.substr(0, step), [&](Opcode opcode, std::string_view payload) {
          CHECK(opcode != Opcode::kContinuation, "a message has a kind");
          CHECK(payload.size() <= kMost_bytes, "the limit of a message holds");
          heard.messages.emplace_back(opcode, payload);
          return true;
        });
    heard.refused = !fed.ok();
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return heard;
}

void check(std::string_view bytes, std::size_t step, bool masked) {
  const Heard whole = hear(bytes, bytes.size() + 1, masked);
  const Heard pieces = hear(bytes, step, masked);
  CHECK(whole.messages == pieces.messages, "the same messages in pieces as whole");
  CHECK(whole.refused == pieces.refused, "what is refused whole is refused in pieces");
  const std::string_view mask = masked ? "wxyz" : "";
  for (const auto& [opcode, payload] : whole.messages) {
    if (opcode == Opcode::kClose) (void)close_reason(payload);
    const Heard again = hear(frame_bytes(opcode, payload, mask), 1, masked);
    CHECK(!again.refused && again.messages.size() == 1 && again.messages[0].second == payload,
          "a message that was received can be sent on");
  }
}

}  // namespace
}  // namespace dove::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = 1 + data[0] % 37;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  dove::wire::check(bytes, step, true);
  dove::wire::check(bytes, step, false);
  return 0;
}
