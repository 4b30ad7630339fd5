// This process's standard streams, each on a thread of its own, so that a paused terminal or a full
// pipe blocks only itself. Callbacks come on the loop.
//
// Include only from .cc files of this part.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "wire/loop.h"

namespace dove::cli {

// Reads stdin piece by piece: the next one only after next().
class StdinReader {
 public:
  // `on_piece`: "" is the end, and the last.
  StdinReader(wire::Loop& loop, std::size_t piece_bytes, std::function<void(std::string)> on_piece);
  ~StdinReader();  // does not wait for input
  StdinReader(const StdinReader&) = delete;
  StdinReader& operator=(const StdinReader&) = delete;

  void next();

 private:
  void run();

  wire::Loop& loop_;
  const std::size_t piece_bytes_;
  const std::function<void(std::string)> on_piece_;
  int stop_fd_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = true;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

// Writes to stdout and stderr in the order of the calls.
class OutputWriter {
 public:
  // `on_written`: this number of bytes was written; `on_gone`: nobody reads any more.
  OutputWriter(wire::Loop& loop, std::function<void(std::size_t)> on_written,
               std::function<void()> on_gone);
  ~OutputWriter();  // waits until all is written, or nobody reads it
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  void write(int fd, std::string bytes);

 private:
  void run();

  wire::Loop& loop_;
  const std::function<void(std::size_t)> on_written_;
  const std::function<void()> on_gone_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<int, std::string>> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace dove::cli
