// Digest folds words and bytes into 64 bits, the same on every machine: the state hash, decision
// digests, shapes. It finds accidents and bugs, not attackers; the log's chain is SHA-256 (store/).
#pragma once

#include <cstdint>
#include <string_view>

namespace dove {

class Digest {
 public:
  void add(std::uint64_t word) {
    value_ ^= word;
    value_ *= 0x9FB21C651E98DF25u;
    value_ ^= value_ >> 32;
  }

  void add(std::string_view bytes) {
    add(bytes.size());
    std::uint64_t word = 0;
    int filled = 0;
    for (unsigned char byte : bytes) {
      word = (word << 8) | byte;
      if (++filled == 8) {
        add(word);
        word = 0;
        filled = 0;
      }
    }
    if (filled > 0) add(word);
  }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

}  // namespace dove
