// RawTerminal: this process's terminal in raw mode, so that keys are passed on unchanged.
//
// Restored when it is destroyed, and at the end of the process if anything calls exit(). One
// thread.
#pragma once

#include <optional>

namespace dove::cli {

class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Nothing happens where stdin is no terminal. Again after the process was stopped.
  void enter();
  // Keys come at once, without echo, those too that pause a terminal; signals are still made of
  // theirs.
  void enter_keys();
  // The next key, if there is one within `wait_ms`. REQUIRES: enter_keys().
  std::optional<char> key(int wait_ms);
  void restore();

 private:
  bool save();

  bool active_ = false;
};

}  // namespace dove::cli
