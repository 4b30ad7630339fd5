#include "cli/slurm/gang/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace dove::cli {

files::Descriptor open_own_file(const std::string& path) {
  files::Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat about {};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0) return {};
  const bool is_own = S_ISREG(about.st_mode) && about.st_uid == ::geteuid() && about.st_nlink == 1;
  return is_own ? std::move(file) : files::Descriptor();
}

}  // namespace dove::cli
