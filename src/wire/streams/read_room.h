// ReadRoom: the buffer that a connection reads into.
//
// A process has thousands of connections, most of which carry little, so each begins with a small
// buffer. Reads that fill it make it grow. After many reads for which a quarter would have sufficed
// it shrinks, one step at a time, so that alternating sizes do not shrink it. Used from one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace dove::wire {

class ReadRoom {
 public:
  // Bytes: between `least` and `most`, once something has come.
  ReadRoom(std::size_t first, std::size_t least, std::size_t most)
      : least_(least), most_(most), bytes_(first, '\0') {}

  char* data() { return bytes_.data(); }
  const char* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

  // After a read of that many bytes, which have been used: the room for the next one.
  void came(std::size_t bytes) {
    if (bytes == size()) {
      small_ = 0;
      bytes_.resize(std::min(std::max(size() * kStep, least_), most_));
    } else if (size() <= least_ || bytes * kStep > size()) {
      small_ = 0;
      if (size() < least_) bytes_.resize(least_);
    } else if (++small_ == kSmallReads) {
      small_ = 0;
      bytes_.resize(std::max(size() / kStep, least_));
      bytes_.shrink_to_fit();
    }
  }

 private:
  static constexpr std::size_t kStep = 4;
  static constexpr int kSmallReads = 32;

  std::size_t least_;
  std::size_t most_;
  int small_ = 0;  // reads in a row
  std::string bytes_;
};

}  // namespace dove::wire
