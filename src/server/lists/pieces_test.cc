#include "server/lists/pieces.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace dove::server {
namespace {

class PiecesTest : public testing::Test {
 protected:
  bool until(const std::function<bool()>& done) {
    return loop.run_until(done, std::chrono::seconds(20));
  }
  wire::Loop loop;
};

TEST_F(PiecesTest, WhatElseThereIsToDoComesBetween) {
  Pieces pieces(loop);
  std::string order;
  int left = 3;
  pieces.read([&] {
    order += 'a';
    return --left > 0;
  });
  EXPECT_EQ(order, "a") << "the first at once";
  loop.post([&] { order += '.'; });
  ASSERT_TRUE(until([&] { return left == 0; }));
  EXPECT_EQ(order, "aa.a");
}

TEST_F(PiecesTest, ReadsTakeTurns) {
  Pieces pieces(loop);
  std::string order;
  int over = 0;
  for (const char name : {'a', 'b', 'c'}) {
    pieces.read([&, name, left = 3]() mutable {
      order += name;
      if (--left > 0) return true;
      ++over;
      return false;
    });
  }
  ASSERT_TRUE(until([&] { return over == 3; }));
  EXPECT_EQ(order, "abcabcabc");
}

TEST_F(PiecesTest, OneThatBeginsAnotherDoesNotHurry) {
  Pieces pieces(loop);
  std::string order;
  bool over = false;
  pieces.read([&, left = 2]() mutable {
    order += 'a';
    if (--left > 0) return true;
    pieces.read([&, more = 3]() mutable {
      order += 'b';
      over = --more == 0;
      loop.post([&] { order += '.'; });
      return !over;
    });
    return false;
  });
  ASSERT_TRUE(until([&] { return over; }));
  EXPECT_EQ(order, "aab.b.b");
}

TEST_F(PiecesTest, WhatIsNotFinishedIsDropped) {
  const auto held = std::make_shared<int>();
  auto pieces = std::make_unique<Pieces>(loop);
  pieces->read([held] { return true; });
  pieces.reset();
  bool passed = false;
  loop.post([&] { passed = true; });
  ASSERT_TRUE(until([&] { return passed; }));
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace dove::server
