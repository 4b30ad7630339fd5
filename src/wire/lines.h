// LineSplitter cuts a stream of bytes into lines.
//
// For the files of wire/ alone. Pure value.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace dove::wire {

class LineSplitter {
 public:
  enum class Outcome { kGoOn, kStopped, kTooLong };

  explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Calls `on_line` for each line that `bytes` completes, without "\n" or "\r\n", until it returns
  // false.
  Outcome feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_line);
  // The last line, which no '\n' ended, if there is one.
  Outcome finish(const std::function<bool(std::string_view)>& on_line);

 private:
  std::size_t line_bytes_max_;
  std::string partial_;
};

}  // namespace dove::wire
