#include "wire/loop.h"

#include <poll.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <optional>

#include "base/check.h"
#include "telemetry/clock.h"
#include "wire/loop_state.h"
#include "wire/world.h"

namespace dove::wire {
namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

struct Timer::State {
  using Clock = std::chrono::steady_clock;
  using Wait = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, LoopExecutor>;
  std::optional<Wait> wait;  // none in a World
  std::function<void()> fn;
  bool pending = true;

  void expired() {
    if (!pending) return;
    pending = false;
    const auto call = std::move(fn);
    call();
  }
};

Timer::Timer() = default;
Timer::~Timer() { cancel(); }
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Timer::cancel() {
  if (!state_) return;
  state_->pending = false;
  state_.reset();  // the last reference cancels the wait, unless the callback is running
}

bool Timer::pending() const { return state_ && state_->pending; }

struct FdWatch::State : std::enable_shared_from_this<FdWatch::State> {
  explicit State(asio::io_context& io) : descriptor(io) {}

  void arm() {
    descriptor.async_wait(what, [weak = weak_from_this()](const ErrorCode& error) {
      const auto self = weak.lock();
      if (!self || self->cancelled || error) return;
      if (self->is_ready()) self->fn();
      if (!self->cancelled) self->arm();
    });
  }

  // Asio wakes a descriptor, too, for what the system had said of one that was dropped meanwhile.
  bool is_ready() {
    const bool reads = what == asio::posix::descriptor_base::wait_read;
    pollfd now{descriptor.native_handle(), static_cast<short>(reads ? POLLIN : POLLOUT), 0};
    return ::poll(&now, 1, 0) != 0;
  }

  asio::posix::basic_stream_descriptor<LoopExecutor> descriptor;
  std::function<void()> fn;
  asio::posix::descriptor_base::wait_type what = asio::posix::descriptor_base::wait_read;
  bool cancelled = false;
};

FdWatch::FdWatch() = default;
FdWatch::~FdWatch() { cancel(); }
FdWatch::FdWatch(FdWatch&&) noexcept = default;
FdWatch& FdWatch::operator=(FdWatch&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void FdWatch::cancel() {
  if (!state_) return;
  state_->cancelled = true;
  state_->descriptor.release();
  state_.reset();
}

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::Loop(World& world) : Loop() { state_->world = &world; }
Loop::~Loop() = default;

void Loop::run() {
  CHECK(state_->world == nullptr, "a World runs what is on it");
  state_->runner = std::this_thread::get_id();
  state_->io.run();
  state_->io.restart();
  state_->runner = std::thread::id();
}

bool Loop::run_until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  state_->runner = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done() && std::chrono::steady_clock::now() < end) {
    state_->io.run_one_until(end);
    if (state_->io.stopped()) {
      state_->io.restart();
      break;
    }
  }
  state_->runner = std::thread::id();
  return done();
}

void Loop::stop() { state_->io.stop(); }

void Loop::post(std::function<void()> fn) {
  if (state_->world != nullptr) {
    state_->world->after(std::chrono::microseconds(0), std::move(fn));
  } else {
    asio::post(state_->io, std::move(fn));
  }
}

std::int64_t Loop::monotonic_us() const {
  return state_->world == nullptr ? telemetry::monotonic_us() : state_->world->monotonic_us();
}

std::int64_t Loop::wall_us() const {
  return state_->world == nullptr ? telemetry::now_us() : state_->world->monotonic_us();
}

World* Loop::world() const { return state_->world; }

bool Loop::on_loop_thread() const {
  const std::thread::id runner = state_->runner;
  return runner == std::thread::id() || runner == std::this_thread::get_id();
}

Timer Loop::after(std::chrono::microseconds delay, std::function<void()> fn) {
  delay = std::max(delay, std::chrono::microseconds(0));
  Timer handle;
  handle.state_ = std::make_shared<Timer::State>();
  handle.state_->fn = std::move(fn);
  const std::weak_ptr<Timer::State> weak = handle.state_;
  if (state_->world != nullptr) {
    state_->world->after(delay, [weak] {
      if (const auto state = weak.lock()) state->expired();
    });
    return handle;
  }
  handle.state_->wait.emplace(state_->io, delay);
  handle.state_->wait->async_wait([weak](const ErrorCode& error) {
    const auto state = weak.lock();
    if (state && !error) state->expired();
  });
  return handle;
}

FdWatch Loop::watch_readable(int fd, std::function<void()> fn) {
  FdWatch handle;
  handle.state_ = std::make_shared<FdWatch::State>(state_->io);
  ErrorCode error;
  handle.state_->descriptor.assign(fd, error);
  CHECK(!error, "a watched descriptor is open, can be polled and is watched once");
  handle.state_->fn = std::move(fn);
  handle.state_->arm();
  return handle;
}

FdWatch Loop::watch_writable(int fd, std::function<void()> fn) {
  FdWatch handle;
  handle.state_ = std::make_shared<FdWatch::State>(state_->io);
  handle.state_->what = asio::posix::descriptor_base::wait_write;
  ErrorCode error;
  handle.state_->descriptor.assign(fd, error);
  CHECK(!error, "a watched descriptor is open, can be polled and is watched once");
  handle.state_->fn = std::move(fn);
  handle.state_->arm();
  return handle;
}

namespace {

struct SignalWatch {
  explicit SignalWatch(asio::io_context& io) : signals(io) {}

  // The Loop owns the watch and outlives every callback.
  void arm() {
    signals.async_wait([this](const ErrorCode& error, int number) {
      if (error) return;
      fn(number);
      arm();
    });
  }

  asio::basic_signal_set<LoopExecutor> signals;
  std::function<void(int)> fn;
};

}  // namespace

void Loop::on_signal(const std::vector<int>& signals, std::function<void(int)> fn) {
  auto watch = std::make_shared<SignalWatch>(state_->io);
  watch->fn = std::move(fn);
  for (int number : signals) {
    ErrorCode error;
    watch->signals.add(number, error);
    CHECK(!error, "the signal exists and can be caught");
  }
  watch->arm();
  state_->signal_watches.push_back(std::move(watch));
}

}  // namespace dove::wire
