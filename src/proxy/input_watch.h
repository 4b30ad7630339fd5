// InputWatch: whether what a browser sends on a WebSocket is more than pings. Follows its frames
// (RFC 6455) and looks at nothing but their heads. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dove::proxy {

class InputWatch {
 public:
  // Whether a frame with data begins in `bytes`, which follow those of the last call.
  bool feed(std::string_view bytes) {
    bool input = false;
    while (!bytes.empty()) {
      if (skip_ > 0) {
        const auto taken = static_cast<std::size_t>(
            skip_ < bytes.size() ? skip_ : static_cast<std::uint64_t>(bytes.size()));
        skip_ -= taken;
        bytes.remove_prefix(taken);
        continue;
      }
      head_[have_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (have_ < 2 || have_ < size_of_head()) continue;
      constexpr unsigned kControl = 8;
      input = input || (head_[0] & 0x0fU) < kControl;
      skip_ = length();
      have_ = 0;
    }
    return input;
  }

 private:
  std::size_t size_of_head() const {
    const unsigned length = head_[1] & 0x7fU;
    const std::size_t more = length == 127 ? 8 : length == 126 ? 2 : 0;
    return 2 + more + ((head_[1] & 0x80U) != 0 ? 4 : 0);
  }
  std::uint64_t length() const {
    const unsigned first = head_[1] & 0x7fU;
    const std::size_t more = first == 127 ? 8 : first == 126 ? 2 : 0;
    std::uint64_t length = more == 0 ? first : 0;
    for (std::size_t at = 2; at < 2 + more; ++at) length = length << 8 | head_[at];
    return length;
  }

  std::array<unsigned char, 14> head_{};
  std::size_t have_ = 0;
  std::uint64_t skip_ = 0;  // of the present frame
};

}  // namespace dove::proxy
