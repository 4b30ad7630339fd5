#include "codec/bytes.h"

#include <fmt/format.h>

namespace dove::codec {

void ByteReader::fail(std::string_view what) {
  if (!failed_) {
    failed_ = true;
    error_ = fmt::format("{} (at byte {})", what, position());
  }
  at_ = end_;
}

void ByteReader::fail_layout(std::uint64_t found, std::uint64_t newest, std::string_view noun) {
  if (!failed_ && found > newest) {
    newer_ = true;
    fail(fmt::format("{} has layout {}, this program knows up to {}", noun, found, newest));
  }
  fail(fmt::format("{} has layout 0", noun));
}

void ByteReader::fail_kind(std::uint64_t number) {
  if (!failed_) newer_ = number != 0;
  fail(fmt::format("its kind {} is unknown to this program", number));
}

}  // namespace dove::codec
