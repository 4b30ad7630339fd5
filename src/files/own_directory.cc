#include "files/own_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "files/descriptor.h"

namespace dove::files {
namespace {

Error not_ours(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kInvalid, "own_directory", fmt::format("{}: {}", path, why), path};
}

}  // namespace

Result<void> make_own_directory(const std::string& path) {
  std::error_code trouble;
  const bool is_new = !std::filesystem::exists(path, trouble);
  std::filesystem::create_directories(path, trouble);
  if (trouble) return not_ours(path, trouble.message());
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat seen = {};
  if (!directory.is_open() || ::fstat(directory.get(), &seen) != 0) {
    return not_ours(path, std::strerror(errno));
  }
  if (seen.st_uid != ::geteuid()) return not_ours(path, "it belongs to another user");
  if ((seen.st_mode & S_IWOTH) != 0) return not_ours(path, "every user may write in it");
  // A new one is as the umask has it.
  if (!is_new && (seen.st_mode & S_IWGRP) != 0) {
    return not_ours(path, "its group may write in it; see what is there, and `chmod g-w` it");
  }
  if (::fchmod(directory.get(), S_IRWXU) != 0) return not_ours(path, std::strerror(errno));
  return {};
}

}  // namespace dove::files
