#include "wire/lines.h"

#include <utility>

namespace dove::wire {

LineSplitter::Outcome LineSplitter::feed(std::string_view bytes,
                                         const std::function<bool(std::string_view)>& on_line) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (partial_.size() + std::min(end, bytes.size()) > line_bytes_max_) return Outcome::kTooLong;
    if (end == std::string_view::npos) {
      partial_ += bytes;
      return Outcome::kGoOn;
    }
    std::string_view line = bytes.substr(0, end);
    std::string joined;
    if (!partial_.empty()) {
      joined = std::exchange(partial_, {});
      joined += line;
      line = joined;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    bytes.remove_prefix(end + 1);
    if (!on_line(line)) return Outcome::kStopped;
  }
}

LineSplitter::Outcome LineSplitter::finish(const std::function<bool(std::string_view)>& on_line) {
  if (partial_.empty()) return Outcome::kGoOn;
  std::string line = std::exchange(partial_, {});
  if (line.ends_with('\r')) line.pop_back();
  return on_line(line) ? Outcome::kGoOn : Outcome::kStopped;
}

}  // namespace dove::wire
