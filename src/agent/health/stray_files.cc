#include "agent/health/stray_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dove::agent {
namespace {

constexpr int kDepth_max = 64;

void remove_at(int directory, const char* name, int& entries, int depth) {
  if (entries-- <= 0 || ::unlinkat(directory, name, 0) == 0 || depth == 0) return;
  const int fd = ::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* const stream = fd < 0 ? nullptr : ::fdopendir(fd);
  if (stream == nullptr) {
    if (fd >= 0) ::close(fd);
    return;
  }
  for (const dirent* entry = ::readdir(stream); entry != nullptr && entries > 0;
       entry = ::readdir(stream)) {
    const bool is_itself =
        entry->d_name[0] == '.' &&
        (entry->d_name[1] == '\0' || (entry->d_name[1] == '.' && entry->d_name[2] == '\0'));
    if (!is_itself) remove_at(fd, entry->d_name, entries, depth - 1);
  }
  ::closedir(stream);
  ::unlinkat(directory, name, AT_REMOVEDIR);
}

}  // namespace

void remove_stray(int directory, const char* name, int& entries) {
  remove_at(directory, name, entries, kDepth_max);
}

void bound_file(int directory, const char* name, std::int64_t bytes_max) {
  struct stat facts {};
  if (::fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!S_ISREG(facts.st_mode) || facts.st_blocks * 512 <= bytes_max) return;
  // Whoever has it open would keep its room.
  const int fd = ::openat(directory, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) {
    // With another name it may be somebody else's file, which is not ours to empty.
    const bool is_plain = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 1;
    if (is_plain) (void)!::ftruncate(fd, 0);
    ::close(fd);
  }
  ::unlinkat(directory, name, 0);
}

}  // namespace dove::agent
