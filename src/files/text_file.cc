#include "files/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "files/descriptor.h"
#include "files/owner.h"

namespace dove::files {
namespace {

Error failed(const std::string& path, const char* code, const char* what) {
  return Error{ErrorKind::kInternal, code, path + " cannot be " + what + ": " + strerror(errno),
               path};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A rename is on the disk only when its directory is.
bool sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.get() >= 0 && ::fsync(fd.get()) == 0;
}

Result<void> write(const std::string& path, std::string_view text, unsigned mode, Survives survives,
                   const std::optional<Owner>& owner) {
  const bool durable = survives == Survives::kPowerCut;
  const std::string fresh = path + ".new";
  // What a crash left there may have another mode, or another owner's link behind it.
  ::unlink(fresh.c_str());
  Descriptor fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (fd.get() < 0) return failed(path, "file_unwritable", "written");
  const bool written = write_all(fd.get(), text) &&
                       (!owner || ::fchown(fd.get(), owner->user, owner->group) == 0) &&
                       ::fchmod(fd.get(), mode) == 0 && (!durable || ::fsync(fd.get()) == 0);
  if (!written || !fd.close() || ::rename(fresh.c_str(), path.c_str()) != 0 ||
      (durable && !sync_directory_of(path))) {
    const Error error = failed(path, "file_unwritable", "written");
    ::unlink(fresh.c_str());
    return error;
  }
  return {};
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t bytes_max) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    if (errno == ENOENT) {
      return Error{ErrorKind::kNotFound, "no_file", path + " is not there", path};
    }
    return failed(path, "file_unreadable", "read");
  }
  std::string text;
  char piece[16 * 1024];
  for (;;) {
    const ssize_t size = ::read(fd.get(), piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(path, "file_unreadable", "read");
    if (size == 0) return text;
    text.append(piece, static_cast<std::size_t>(size));
    if (text.size() > bytes_max) {
      return Error{ErrorKind::kTooLarge, "file_too_large",
                   path + " has more than " + std::to_string(bytes_max) + " bytes", path};
    }
  }
}

std::string text_or_empty(const std::string& path, std::size_t bytes_max) {
  Result<std::string> text = read_text(path, bytes_max);
  return text.ok() ? std::move(text).value() : "";
}

Result<void> write_atomically(const std::string& path, std::string_view text, unsigned mode,
                              Survives survives) {
  return write(path, text, mode, survives, std::nullopt);
}

Result<void> write_for_owner(const std::string& path, std::string_view text, unsigned mode) {
  return write(path, text, mode, Survives::kPowerCut,
               ::geteuid() == 0 ? owner_beside(path) : std::nullopt);
}

}  // namespace dove::files
