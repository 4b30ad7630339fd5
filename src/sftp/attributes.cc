#include "sftp/attributes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

namespace dove::sftp {
namespace {

constexpr mode_t kModeBits = 07777;

}  // namespace

Attributes Attributes::read(Reader& in) {
  Attributes out;
  out.flags = in.number32();
  if ((out.flags & kSize) != 0) out.size = in.number64();
  if ((out.flags & kOwner) != 0) {
    out.uid = in.number32();
    out.gid = in.number32();
  }
  if ((out.flags & kMode) != 0) out.mode = in.number32();
  if ((out.flags & kTimes) != 0) {
    out.read_at = in.number32();
    out.written_at = in.number32();
  }
  if ((out.flags & kMore) != 0) {
    const std::uint32_t count = in.number32();
    for (std::uint32_t i = 0; i < count && in.is_good(); ++i) {
      in.text();
      in.text();
    }
  }
  return out;
}

int Attributes::set(int fd) const {
  const timespec times[2] = {{static_cast<time_t>(read_at), 0},
                             {static_cast<time_t>(written_at), 0}};
  int error = 0;
  if ((flags & kSize) != 0 && ::ftruncate(fd, static_cast<off_t>(size)) != 0) error = errno;
  if ((flags & kMode) != 0 && ::fchmod(fd, mode & kModeBits) != 0) error = errno;
  if ((flags & kTimes) != 0 && ::futimens(fd, times) != 0) error = errno;
  if ((flags & kOwner) != 0 && ::fchown(fd, uid, gid) != 0) error = errno;
  return error;
}

int Attributes::set(const char* path, bool follows) const {
  const int how = follows ? 0 : AT_SYMLINK_NOFOLLOW;
  const timespec times[2] = {{static_cast<time_t>(read_at), 0},
                             {static_cast<time_t>(written_at), 0}};
  int error = 0;
  if ((flags & kSize) != 0) {
    if (!follows) return EINVAL;
    if (::truncate(path, static_cast<off_t>(size)) != 0) error = errno;
  }
  if ((flags & kMode) != 0 && ::fchmodat(AT_FDCWD, path, mode & kModeBits, how) != 0) error = errno;
  if ((flags & kTimes) != 0 && ::utimensat(AT_FDCWD, path, times, how) != 0) error = errno;
  if ((flags & kOwner) != 0 && ::fchownat(AT_FDCWD, path, uid, gid, how) != 0) error = errno;
  return error;
}

void write_attributes(Writer& out, const struct stat& facts) {
  out.number32(Attributes::kSize | Attributes::kOwner | Attributes::kMode | Attributes::kTimes);
  out.number64(static_cast<std::uint64_t>(facts.st_size));
  out.number32(facts.st_uid);
  out.number32(facts.st_gid);
  out.number32(facts.st_mode);
  out.number32(static_cast<std::uint64_t>(facts.st_atim.tv_sec));
  out.number32(static_cast<std::uint64_t>(facts.st_mtim.tv_sec));
}

// Owners by number: who they are by name is not known in every image.
std::string long_name(std::string_view name, const struct stat& facts) {
  const mode_t mode = facts.st_mode;
  const char kind = S_ISDIR(mode)    ? 'd'
                    : S_ISLNK(mode)  ? 'l'
                    : S_ISCHR(mode)  ? 'c'
                    : S_ISBLK(mode)  ? 'b'
                    : S_ISFIFO(mode) ? 'p'
                    : S_ISSOCK(mode) ? 's'
                                     : '-';
  char bits[11] = {kind};
  for (int i = 0; i < 9; ++i) bits[i + 1] = (mode >> (8 - i) & 1) != 0 ? "rwx"[i % 3] : '-';
  char when[32] = "";
  std::tm parts{};
  const std::time_t at = facts.st_mtim.tv_sec;
  const bool is_recent = std::time(nullptr) - at < 180L * 86'400;
  if (::gmtime_r(&at, &parts) != nullptr) {
    std::strftime(when, sizeof when, is_recent ? "%b %e %H:%M" : "%b %e  %Y", &parts);
  }
  char line[128];
  std::snprintf(line, sizeof line, "%s %4lu %-8u %-8u %8lld %s ", bits,
                static_cast<unsigned long>(facts.st_nlink), facts.st_uid, facts.st_gid,
                static_cast<long long>(facts.st_size), when);
  return line + std::string(name);
}

}  // namespace dove::sftp
