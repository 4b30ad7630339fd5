#include "agent/forward/task_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "files/descriptor.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

Error no_such_socket(const std::string& path, const std::string& why) {
  return Error{
      ErrorKind::kNotFound, "no_such_socket",
      fmt::format(
          "the task has no socket {}: {}; it has to be in the task's directory DOVE_SOCKETS", path,
          why),
      "socket"};
}

int open_beneath(int directory, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
}

std::string why_not(int error) {
  if (error == EXDEV) return "the path leads out of the task's directory";
  if (error == ELOOP) return "there is a link in the path";
  return std::strerror(error);
}

// The file, opened for its place alone; the caller owns it.
Result<int> open_task_socket(const TaskSockets& sockets, const std::string& path) {
  const std::string& attempt = sockets.attempt_directory;
  const std::string name = fs::path(sockets.directory).filename().string();
  std::string beneath = name + "/" + path;
  if (path.starts_with('/')) {
    if (!path.starts_with(attempt + "/")) {
      return no_such_socket(path, "the path leads out of the task's directory");
    }
    beneath = path.substr(attempt.size() + 1);
  }
  const files::Descriptor base(::open(attempt.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat owner {};
  if (base.get() < 0 || ::fstatat(base.get(), name.c_str(), &owner, AT_SYMLINK_NOFOLLOW) != 0) {
    return no_such_socket(path, std::strerror(errno));
  }
  files::Descriptor socket_file(open_beneath(base.get(), beneath));
  struct stat found {};
  if (socket_file.get() < 0 || ::fstat(socket_file.get(), &found) != 0) {
    return no_such_socket(path, why_not(errno));
  }
  if (!S_ISSOCK(found.st_mode)) return no_such_socket(path, "that file is not a socket");
  if (found.st_uid != owner.st_uid) {
    return Error{ErrorKind::kDenied, "not_yours",
                 fmt::format("the socket {} belongs to another user than the task's", path),
                 "socket"};
  }
  return socket_file.release();
}

}  // namespace

std::string sockets_directory(const std::string& attempt_directory, const ExecSpec& exec) {
  const bool has_workdir = exec.workdir.empty() && exec.container.image.empty();
  return attempt_directory + (has_workdir ? "/work" : "/sockets");
}

Result<void> find_task_socket(const TaskSockets& sockets, const std::string& path) {
  TRY_ASSIGN(const int fd, open_task_socket(sockets, path));
  ::close(fd);
  return {};
}

Result<int> connect_task_socket(const TaskSockets& sockets, const std::string& path) {
  TRY_ASSIGN(const int fd, open_task_socket(sockets, path));
  const files::Descriptor socket_file(fd);
  files::Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // Side threads have descriptors of their own.
  const std::string by_descriptor = fmt::format("/proc/thread-self/fd/{}", socket_file.get());
  std::memcpy(name.sun_path, by_descriptor.c_str(), by_descriptor.size() + 1);
  if (made.get() < 0 ||
      ::connect(made.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    if (errno == EAGAIN) {
      return Error{ErrorKind::kTimeout, "busy",
                   fmt::format("the program at {} accepts no connection now", path), "socket"};
    }
    return Error{ErrorKind::kUnavailable, "forward_failed",
                 fmt::format("nobody answers at {}: {}", path, std::strerror(errno)), "socket"};
  }
  return made.release();
}

}  // namespace dove::agent
