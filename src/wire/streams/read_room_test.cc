#include "wire/streams/read_room.h"

#include <gtest/gtest.h>

namespace dove::wire {
namespace {

TEST(ReadRoom, GrowsWithWhatComesUpToItsMost) {
  ReadRoom room(64, 1024, 10'000);
  room.came(10);
  EXPECT_EQ(room.size(), 1024u);
  room.came(1024);
  EXPECT_EQ(room.size(), 4096u);
  room.came(4096);
  room.came(10'000);
  EXPECT_EQ(room.size(), 10'000u);
}

TEST(ReadRoom, ShrinksAfterManySmallReadsAndNotBetweenLargeOnes) {
  ReadRoom room(1024, 1024, 4096);
  room.came(1024);
  for (int i = 0; i < 1000; ++i) room.came(i % 2 == 0 ? 300 : 2000);
  EXPECT_EQ(room.size(), 4096u);
  for (int i = 0; i < 32; ++i) room.came(300);
  EXPECT_EQ(room.size(), 1024u);
}

}  // namespace
}  // namespace dove::wire
