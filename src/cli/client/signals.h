// Signals: their names, and a watch that receives them while a command streams.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/result.h"

namespace dove::cli {

// "TERM", "SIGTERM", "15".
Result<int> signal_number(const std::string& text);

// While it lives, SIGINT and SIGTERM do not end the process but call `heard` on a thread of the
// watch, in order of arrival. Made before other threads are, destroyed on the thread that made it.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(int)> heard);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::function<void(int)> heard_;
  std::thread thread_;
};

}  // namespace dove::cli
