#include "proxy/input_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace dove::proxy {
namespace {

std::string frame(int opcode, std::size_t length) {
  std::string out(1, static_cast<char>(0x80 | opcode));
  if (length < 126) {
    out += static_cast<char>(0x80 | length);
  } else if (length < 65536) {
    out += std::string{static_cast<char>(0x80 | 126), static_cast<char>(length >> 8),
                       static_cast<char>(length & 0xff)};
  } else {
    out += static_cast<char>(0x80 | 127);
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(length >> shift & 0xff);
  }
  return out + "mask" + std::string(length, 'x');
}

TEST(InputWatchTest, DataIsInputAndPingsAreNot) {
  constexpr int kText = 1;
  constexpr int kBytes = 2;
  constexpr int kPing = 9;
  constexpr int kPong = 10;
  for (const std::size_t length : {0UL, 1UL, 125UL, 126UL, 300UL, 65535UL, 65536UL, 70000UL}) {
    for (const std::size_t step : {1UL, 2UL, 7UL, 100000UL}) {
      InputWatch watch;
      const auto feed = [&](const std::string& bytes) {
        bool input = false;
        for (std::size_t at = 0; at < bytes.size(); at += step) {
          input = watch.feed(std::string_view(bytes).substr(at, step)) || input;
        }
        return input;
      };
      EXPECT_FALSE(feed(frame(kPing, 4) + frame(kPong, 0)));
      EXPECT_TRUE(feed(frame(kText, length)));
      EXPECT_FALSE(feed(frame(kPong, 125)));
      EXPECT_TRUE(feed(frame(kPing, 1) + frame(kBytes, length)));
    }
  }
}

}  // namespace
}  // namespace dove::proxy
