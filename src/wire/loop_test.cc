#include "wire/loop.h"

#include <gtest/gtest.h>
#include <sys/signal.h>
#include <unistd.h>

#include <optional>
#include <thread>

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

TEST(Loop, posts_run_in_order_and_from_other_threads) {
  Loop loop;
  std::string order;
  loop.post([&] { order += 'a'; });
  loop.post([&] { order += 'b'; });
  std::thread other;
  loop.post([&] {
    other = std::thread([&] {
      EXPECT_FALSE(loop.on_loop_thread());
      loop.post([&] {
        EXPECT_TRUE(loop.on_loop_thread());
        loop.stop();
      });
    });
  });
  loop.run();
  other.join();
  EXPECT_EQ(order, "ab");
}

TEST(Loop, stop_before_run_is_kept_and_run_can_be_repeated) {
  Loop loop;
  loop.stop();
  loop.run();
  bool ran = false;
  loop.post([&] {
    ran = true;
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(ran);
}

TEST(Loop, run_until_gives_up) {
  Loop loop;
  EXPECT_FALSE(loop.run_until([] { return false; }, 5ms));
}

TEST(Timer, fires_in_order_of_time_unless_cancelled) {
  Loop loop;
  std::string order;
  Timer late = loop.after(3ms, [&] { order += 'l'; });
  Timer early = loop.after(1ms, [&] { order += 'e'; });
  Timer cancelled = loop.after(1ms, [&] { order += 'x'; });
  {
    const Timer dropped = loop.after(0ms, [&] { order += 'y'; });
  }
  cancelled.cancel();
  EXPECT_TRUE(late.pending());
  EXPECT_FALSE(cancelled.pending());
  EXPECT_TRUE(loop.run_until([&] { return !late.pending(); }, 5s));
  EXPECT_EQ(order, "el");
}

TEST(Timer, cancelled_after_its_time_does_not_fire) {
  Loop loop;
  int fired = 0;
  Timer second;
  const Timer first = loop.after(1ms, [&] {
    ++fired;
    second.cancel();
  });
  second = loop.after(1ms, [&] { ++fired; });
  loop.run_until([] { return false; }, 10ms);
  EXPECT_EQ(fired, 1);
}

TEST(Timer, can_be_set_again_in_its_own_callback) {
  Loop loop;
  int fired = 0;
  Timer timer;
  std::function<void()> tick = [&] {
    if (++fired < 3) timer = loop.after(0ms, tick);
  };
  timer = loop.after(0ms, tick);
  EXPECT_TRUE(loop.run_until([&] { return fired == 3; }, 5s));
}

TEST(FdWatch, is_level_triggered_until_dropped) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string got;
  std::optional<FdWatch> watch = loop.watch_readable(ends[0], [&] {
    char c = 0;
    if (read(ends[0], &c, 1) == 1) got += c;
    if (got.size() == 3) watch.reset();
  });
  ASSERT_EQ(write(ends[1], "abcd", 4), 4);
  EXPECT_TRUE(loop.run_until([&] { return !watch; }, 5s));
  loop.run_until([] { return false; }, 2ms);
  EXPECT_EQ(got, "abc");
  char rest = 0;
  EXPECT_EQ(read(ends[0], &rest, 1), 1);  // still open, and ours
  close(ends[0]);
  close(ends[1]);
}

TEST(FdWatch, tells_of_the_end) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  bool ended = false;
  FdWatch watch = loop.watch_readable(ends[0], [&] {
    char c = 0;
    ended = read(ends[0], &c, 1) == 0;
    watch.cancel();
  });
  close(ends[1]);
  EXPECT_TRUE(loop.run_until([&] { return ended; }, 5s));
  close(ends[0]);
}

TEST(Loop, hears_signals_each_time) {
  Loop loop;
  int heard = 0;
  loop.on_signal({SIGUSR1, SIGUSR2}, [&](int number) { heard += number == SIGUSR1 ? 1 : 10; });
  kill(getpid(), SIGUSR1);
  EXPECT_TRUE(loop.run_until([&] { return heard == 1; }, 5s));
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(loop.run_until([&] { return heard == 11; }, 5s));
}

// The second end of a batch is dropped by the first, and its number is taken by one with nothing
// to read: what the system said of the former is not said of this one.
TEST(FdWatch, is_not_taken_for_the_one_that_had_its_number) {
  Loop loop;
  int first[2];
  int second[2];
  ASSERT_EQ(pipe(first), 0);
  ASSERT_EQ(pipe(second), 0);
  std::optional<FdWatch> watches[2];
  std::optional<FdWatch> fresh;
  int silent[2] = {-1, -1};
  int calls = 0;
  int wrong = 0;
  const auto drop_other = [&](int self) {
    ++calls;
    if (calls > 1) return;
    watches[0].reset();
    watches[1].reset();
    close(self == 0 ? second[0] : first[0]);
    ASSERT_EQ(pipe(silent), 0);
    fresh = loop.watch_readable(silent[0], [&] { ++wrong; });
  };
  watches[0] = loop.watch_readable(first[0], [&] { drop_other(0); });
  watches[1] = loop.watch_readable(second[0], [&] { drop_other(1); });
  ASSERT_EQ(write(first[1], "x", 1), 1);
  ASSERT_EQ(write(second[1], "x", 1), 1);
  loop.run_until([&] { return wrong > 0; }, 50ms);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(wrong, 0);
  ASSERT_EQ(write(silent[1], "x", 1), 1);
  loop.run_until([&] { return wrong > 0; }, 5s);
  EXPECT_GT(wrong, 0) << "it is watched all the same";
  fresh.reset();
  for (const int fd : {first[1], second[1], silent[0], silent[1]}) close(fd);
}

}  // namespace
}  // namespace dove::wire
