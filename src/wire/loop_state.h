// The internals of a Loop. Only for the files of wire/ that name Asio (loop.cc, tcp.cc).
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <list>
#include <thread>

#include "wire/loop.h"

namespace dove::wire {

// Asio's objects are bound to the concrete executor: cheaper than any_io_executor in every
// operation.
using LoopExecutor = boost::asio::io_context::executor_type;

struct Loop::State {
  World* world = nullptr;
  // Declared before `io`: callbacks that die with it still ask which thread they are on.
  std::atomic<std::thread::id> runner{};
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<LoopExecutor> work{io.get_executor()};
  std::list<std::shared_ptr<void>> signal_watches;
};

}  // namespace dove::wire
