// Loop runs everything that waits on one thread: sockets, timers, file descriptors, signals.
//
// One thread calls run() and with it every callback. Only post(), stop() and on_loop_thread() may
// be called from other threads. Callbacks must not throw and must not block. A Loop outlives
// everything made from it (Timer, FdWatch, Server, AsyncClient).
//
// A Loop made on a World (wire/world.h) has that World's time; nobody runs it, and it watches no
// descriptors or signals.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dove::wire {

class Loop;
class World;

// A pending call, cancelled when the handle dies or another is assigned to it. Loop thread only.
class Timer {
 public:
  Timer();
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;

  // The call will not be made, even if its time has passed. Safe inside the callback itself.
  void cancel();
  // Whether the call is still to come.
  bool pending() const;

 private:
  friend class Loop;
  struct State;
  std::shared_ptr<State> state_;
};

// Watches a file descriptor until the handle dies. Loop thread only.
class FdWatch {
 public:
  FdWatch();
  ~FdWatch();
  FdWatch(FdWatch&&) noexcept;
  FdWatch& operator=(FdWatch&&) noexcept;

  void cancel();

 private:
  friend class Loop;
  struct State;
  std::shared_ptr<State> state_;
};

class Loop {
 public:
  Loop();
  explicit Loop(World& world);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs callbacks until stop(). A stop() from before the call makes it return at once. May be
  // called again after it returned.
  void run();
  // Runs until `done` is true (asked after every callback) or `limit` has passed; the final value.
  bool run_until(const std::function<bool()>& done, std::chrono::milliseconds limit);
  // Makes run() return after the present callback. Thread-safe.
  void stop();
  // Calls `fn` in a later turn of the loop, in the order of the posts. Thread-safe, wakes at once.
  void post(std::function<void()> fn);
  // The clock of its timers, in microseconds: that of telemetry, or of its World.
  std::int64_t monotonic_us() const;
  // Microseconds since 1970 of this machine's clock, which may be set back; in a World, since its
  // beginning.
  std::int64_t wall_us() const;
  // nullptr: this machine.
  World* world() const;
  // True in the thread that is in run(), run_until(), and in any thread while nobody is.
  bool on_loop_thread() const;

  // Calls `fn` once after `delay`, unless the handle is gone by then.
  [[nodiscard]] Timer after(std::chrono::microseconds delay, std::function<void()> fn);

  // Calls `fn` each time `fd` is readable (or at its end) until the handle dies: level-triggered,
  // so `fn` reads or drops the handle. For pipes, sockets, pidfds, signalfds, inotify. The fd is
  // not owned, is watched once only, and is closed after the handle's death, not before.
  [[nodiscard]] FdWatch watch_readable(int fd, std::function<void()> fn);

  // The same each time `fd` takes bytes. One that is watched for reading too needs a duplicate.
  [[nodiscard]] FdWatch watch_writable(int fd, std::function<void()> fn);

  // Calls `fn` with the signal's number each time one of `signals` arrives, as long as the loop
  // lives.
  void on_signal(const std::vector<int>& signals, std::function<void(int)> fn);

  // For the files of wire/ alone (loop_state.h).
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace dove::wire
