// Attributes of files as SFTP, version 3, has them, and the line of `ls -l` that goes with a name.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sftp/packet.h"

namespace dove::sftp {

// What a client wants set; flags_ says which.
struct Attributes {
  static constexpr std::uint32_t kSize = 1;
  static constexpr std::uint32_t kOwner = 2;
  static constexpr std::uint32_t kMode = 4;
  static constexpr std::uint32_t kTimes = 8;
  static constexpr std::uint32_t kMore = 0x80000000;

  std::uint32_t flags = 0;
  std::uint64_t size = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t mode = 0;
  std::uint32_t read_at = 0;  // seconds since 1970
  std::uint32_t written_at = 0;

  static Attributes read(Reader& in);
  // On an open file, or on a path; 0 or errno. `follows`: what a link points at.
  int set(int fd) const;
  int set(const char* path, bool follows) const;
};

void write_attributes(Writer& out, const struct stat& facts);
std::string long_name(std::string_view name, const struct stat& facts);

}  // namespace dove::sftp
