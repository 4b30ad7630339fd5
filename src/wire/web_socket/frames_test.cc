#include "wire/web_socket/frames.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace dove::wire {
namespace {

using Messages = std::vector<std::pair<Opcode, std::string>>;
constexpr std::string_view kMask = "\x37\xfa\x21\x3d";

Result<void> read(FrameReader& reader, std::string_view bytes, Messages& found) {
  return reader.feed(bytes, [&](Opcode opcode, std::string_view payload) {
    found.emplace_back(opcode, payload);
    return true;
  });
}

TEST(Frames, are_those_of_the_standards_examples) {
  EXPECT_EQ(frame_bytes(Opcode::kText, "Hello"), std::string("\x81\x05Hello"));
  EXPECT_EQ(frame_bytes(Opcode::kText, "Hello", kMask),
            std::string("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"));
  EXPECT_EQ(frame_bytes(Opcode::kBytes, std::string(256, 'x')).substr(0, 4),
            std::string("\x82\x7e\x01\x00", 4));
  EXPECT_EQ(frame_bytes(Opcode::kBytes, std::string(65'536, 'x')).substr(0, 10),
            std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
}

TEST(Frames, come_back_whole_however_they_are_cut) {
  std::string all;
  Messages sent;
  for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 70'000u}) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 31 + size);
    all += frame_bytes(Opcode::kBytes, payload, kMask);
    sent.emplace_back(Opcode::kBytes, std::move(payload));
  }
  for (const std::size_t piece : {std::size_t{7}, std::size_t{4096}, all.size()}) {
    FrameReader reader(/*masked=*/true, 1 << 20);
    Messages found;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      ASSERT_TRUE(read(reader, std::string_view(all).substr(at, piece), found).ok());
    }
    EXPECT_EQ(found, sent) << piece;
  }
}

TEST(Frames, of_one_message_are_joined_and_a_ping_may_come_between) {
  FrameReader reader(/*masked=*/false, 100);
  Messages found;
  ASSERT_TRUE(read(reader, std::string("\x01\x03Hel") + "\x89\x02hi" + "\x80\x02lo", found).ok());
  EXPECT_EQ(found, (Messages{{Opcode::kPing, "hi"}, {Opcode::kText, "Hello"}}));
}

TEST(Frames, that_break_the_rules_are_refused) {
  const std::pair<bool, std::string> kBroken[] = {
      {true, frame_bytes(Opcode::kText, "not masked")},
      {false, frame_bytes(Opcode::kText, "masked", kMask)},
      {false, std::string("\xc1\x00", 2)},            // a reserved bit
      {false, std::string("\x83\x00", 2)},            // no such kind
      {false, std::string("\x80\x00", 2)},            // goes on with nothing
      {false, std::string("\x01\x01x\x81\x01y", 6)},  // begins within another
      {false, std::string("\x09\x00", 2)},            // a ping in parts
      {false, std::string("\x89\x7e\x01\x00", 4)},    // a long ping
      {false, frame_bytes(Opcode::kBytes, std::string(101, 'x'))},
      {false, std::string("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10)},
      {false, std::string("\x02\x3c") + std::string(60, 'x') + "\x80\x3c" + std::string(60, 'x')},
  };
  for (const auto& [masked, bytes] : kBroken) {
    FrameReader reader(masked, 100);
    Messages found;
    EXPECT_FALSE(read(reader, bytes, found).ok()) << bytes.substr(0, 12);
    EXPECT_TRUE(found.empty());
  }
}

TEST(Frames, behind_what_its_user_wanted_last_are_not_given) {
  FrameReader reader(/*masked=*/false, 100);
  int heard = 0;
  const std::string two = frame_bytes(Opcode::kClose, "") + frame_bytes(Opcode::kText, "late");
  EXPECT_TRUE(reader.feed(two, [&](Opcode, std::string_view) { return ++heard > 1; }).ok());
  EXPECT_EQ(heard, 1);
}

TEST(Frames, that_close_carry_a_reason_of_bounded_length) {
  EXPECT_EQ(close_reason(close_payload(1000, "the job ended")), "the job ended");
  EXPECT_EQ(close_reason(""), "");
  EXPECT_EQ(close_payload(1011, std::string(500, 'x')).size(), 125u);
}

}  // namespace
}  // namespace dove::wire
