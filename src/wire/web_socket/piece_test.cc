#include "wire/web_socket/piece.h"

#include <gtest/gtest.h>

namespace dove::wire {
namespace {

TEST(Piece, comes_back_with_its_stream_whatever_its_bytes) {
  std::string bytes(256, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  for (const Channel channel : {Channel::kStdin, Channel::kStdout, Channel::kStderr}) {
    const std::string message = piece_bytes(channel, bytes);
    const Result<Piece> read = read_piece(message);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->channel, channel);
    EXPECT_EQ(read->bytes, bytes);
  }
}

TEST(Piece, of_no_stream_or_too_long_is_refused) {
  EXPECT_FALSE(read_piece("").ok());
  EXPECT_FALSE(read_piece("\x03x").ok());
  EXPECT_FALSE(read_piece("\xffx").ok());
  EXPECT_TRUE(read_piece(piece_bytes(Channel::kStdout, std::string(kPiece_bytes, 'x'))).ok());
  EXPECT_FALSE(read_piece(piece_bytes(Channel::kStdout, std::string(kPiece_bytes + 1, 'x'))).ok());
}

TEST(Window, lets_no_more_under_way_than_it_holds) {
  Window window;
  EXPECT_EQ(window.left(), kWindow_bytes);
  EXPECT_TRUE(window.add(kWindow_bytes - 1));
  EXPECT_FALSE(window.add(2));
  EXPECT_TRUE(window.add(1));
  EXPECT_EQ(window.left(), 0u);
  EXPECT_FALSE(window.take(-1));
  EXPECT_FALSE(window.take(static_cast<std::int64_t>(kWindow_bytes) + 1));
  EXPECT_TRUE(window.take(1000));
  EXPECT_EQ(window.left(), 1000u);
}

// The sender's window never runs out unsaid: what is withheld is less than half of it.
TEST(Passed, is_said_in_portions_and_at_last_whole) {
  Passed passed;
  EXPECT_EQ(passed.add(1000), 0u);
  EXPECT_EQ(passed.add(kWindow_bytes / 2), 1000 + kWindow_bytes / 2);
  EXPECT_EQ(passed.add(10), 0u);
  EXPECT_EQ(passed.rest(), 10u);
  EXPECT_EQ(passed.rest(), 0u);
}

}  // namespace
}  // namespace dove::wire
