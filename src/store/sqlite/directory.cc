#include "store/sqlite/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace dove::store {
namespace {

Error system_failure(const std::string& path, const char* doing) {
  const int number = errno;
  const bool space = number == ENOSPC || number == EDQUOT;
  const bool denied = number == EACCES || number == EPERM || number == EROFS;
  return Error{
      space    ? ErrorKind::kExhausted
      : denied ? ErrorKind::kDenied
               : ErrorKind::kInternal,
      space ? "disk_full" : "data_not_accessible",
      fmt::format(
          "cannot {} {}: {}; choose a directory of this user's with --data, or mend this one",
          doing, path, std::strerror(number)),
      path};
}

Error in_use(const std::string& directory, int lock) {
  char text[32] = {};
  const ssize_t size = ::pread(lock, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return Error{ErrorKind::kConflict, "data_in_use",
               fmt::format("the data in {} are in use by process {}: end that server, or give this "
                           "one another directory with --data",
                           directory, pid.empty() ? "(unknown)" : pid),
               directory};
}

Result<void> create_file(const std::string& directory, const std::string& file) {
  const std::string path = directory + "/" + file;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return system_failure(path, "open");
  ::close(descriptor);
  const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return system_failure(directory, "open");
  const bool synced = ::fsync(folder) == 0;
  const Error failure = system_failure(directory, "sync");
  ::close(folder);
  if (!synced) return failure;
  return {};
}

}  // namespace

Result<DataDirectory> DataDirectory::hold(const std::string& directory, const std::string& file) {
  std::error_code failed;
  const auto parent = std::filesystem::path(directory).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, failed);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure(directory, "create");
  }
  const std::string path = directory + "/lock";
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return system_failure(path, "open");
  DataDirectory held(lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return in_use(directory, lock);
    return system_failure(path, "lock");
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // Only for people: a full disk must not keep a server from reading what it has.
  if (::ftruncate(lock, 0) == 0) (void)!::pwrite(lock, pid.data(), pid.size(), 0);
  TRY(create_file(directory, file));
  return held;
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)) {}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace dove::store
