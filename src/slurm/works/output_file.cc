#include "slurm/works/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "files/descriptor.h"
#include "slurm/works/linux_user.h"

namespace dove::slurm {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kWordsBytesMax = 1 << 20;
constexpr TextRule kAnyText{64 << 10, TextRule::Kind::kAny};
constexpr std::int64_t kOffsetMax = INT64_MAX / 2;

// What the process that reads says first; the bytes follow.
struct Head {
  int error = 0;  // of the system; 0: none
  bool is_regular = true;
  bool at_end = false;
  std::int64_t offset = 0;
};

bool put(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(to, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

// All that the process does that has become the user.
void read_part(const std::string& path, const PartWanted& wanted, int to) {
  Head head;
  const auto say = [&](int error) {
    head.error = error;
    put(to, reinterpret_cast<const char*>(&head), sizeof head);
  };
  // A pipe that nobody writes, or a device, would block its opener.
  const files::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  struct statfs system {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return say(errno);
  if (::fstatfs(file.get(), &system) != 0) return say(errno);
  // What the kernel says of this machine and its processes counts as regular files, too.
  const bool is_kernels = system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC;
  head.is_regular = S_ISREG(status.st_mode) && !is_kernels;
  if (!head.is_regular) return say(0);
  head.offset =
      wanted.offset < 0 ? std::max<std::int64_t>(status.st_size + wanted.offset, 0) : wanted.offset;
  std::string bytes(static_cast<std::size_t>(wanted.most), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t now = ::pread(file.get(), bytes.data() + size, bytes.size() - size,
                                head.offset + static_cast<std::int64_t>(size));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return say(errno);
    if (now == 0) break;
    size += static_cast<std::size_t>(now);
  }
  head.at_end = size < bytes.size();
  say(0);
  put(to, bytes.data(), size);
}

// It has nothing of the adapter's but the pipe, and ends with it: whoever waits for a reader that
// is gone would keep the adapter's memory, with its key, under the user's id.
[[noreturn]] void read_as(const LinuxUser& user, const std::string& path, const PartWanted& wanted,
                          int to, pid_t parent) noexcept {
  constexpr int kPipe = 0;
  sigset_t none;
  ::sigemptyset(&none);
  ::signal(SIGPIPE, SIG_DFL);
  bool is_ready = ::dup2(to, kPipe) == kPipe && ::close_range(kPipe + 1, ~0U, 0) == 0 &&
                  ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  // By /proc/self/cwd the user would reach folders behind those that are closed to them.
  is_ready = is_ready && ::chdir("/") == 0 && become(user);
  // A change of user takes both of these back.
  is_ready = is_ready && ::prctl(PR_SET_DUMPABLE, 0) == 0 &&
             ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
  if (is_ready) read_part(path, wanted, kPipe);
  ::_exit(0);
}

// False: it is not at its end within the time.
bool collect(int from, std::string& bytes, std::size_t most, steady_clock::time_point until) {
  std::array<char, 64 << 10> room{};
  while (bytes.size() <= most) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    pollfd watched{from, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (::poll(&watched, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t now = ::read(from, room.data(), room.size());
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return true;
    bytes.append(room.data(), static_cast<std::size_t>(now));
  }
  return true;
}

std::string host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this machine";
}

Error unreachable(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kUnavailable, "output_unreachable",
               fmt::format("{} on {} cannot be read now: {}", path, host(), why), ""};
}

Error error_of(const Head& head, const std::string& path, const std::string& user) {
  if (!head.is_regular) {
    return Error{ErrorKind::kConflict, "output_no_file",
                 fmt::format("{} on {} is no file that a job can write", path, host()), ""};
  }
  switch (head.error) {
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorKind::kConflict, "no_output_file",
                   fmt::format("there is no file {} on {}, where `dove slurm` runs", path, host()),
                   ""};
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
      return Error{
          ErrorKind::kDenied, "output_denied",
          fmt::format("{} cannot read {} on {}: {}", user, path, host(), std::strerror(head.error)),
          ""};
    default:
      return unreachable(path, std::strerror(head.error));
  }
}

std::string path_of(const PartWanted& wanted, const LinuxUser& user) {
  if (wanted.path.starts_with('/')) return wanted.path;
  const std::string& folder = wanted.workdir;
  if (folder.starts_with('/')) return folder + "/" + wanted.path;
  return user.home + "/" + (folder.empty() ? "" : folder + "/") + wanted.path;
}

}  // namespace

Result<std::optional<PartWanted>> read_part_wanted(std::string_view body) {
  TRY_ASSIGN(const nlohmann::json value, codec::parse_json(body, kWordsBytesMax));
  std::optional<PartWanted> wanted;
  codec::Failure failure;
  codec::JsonFields fields(value, "", failure);
  fields.allow_unknown();
  fields.object("read", [&](codec::JsonFields& inner) {
    PartWanted& part = wanted.emplace();
    inner.allow_unknown();
    inner.text("part", part.name);
    inner.text("user", part.user);
    inner.text("workdir", part.workdir, kAnyText);
    inner.text("path", part.path, kAnyText);
    inner.integer("offset", part.offset, -kOffsetMax, kOffsetMax);
    inner.integer("most", part.most, 1, OutputFiles::kPartBytesMax);
    if (part.path.empty()) inner.fail("path", "missing_field", "names no file");
    if (part.most == 0) inner.fail("most", "missing_field", "asks for nothing");
  });
  if (failure.any()) return failure.error();
  return wanted;
}

Result<PartRead> OutputFiles::read(const PartWanted& wanted) {
  TRY_ASSIGN(const LinuxUser user, linux_user(wanted.user));
  const std::string path = path_of(wanted, user);
  std::erase_if(stuck_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (stuck_.size() >= kStuckMax) return unreachable(path, "its file system does not answer");
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return unreachable(path, std::strerror(errno));
  const files::Descriptor from(pipe[0]);
  files::Descriptor to(pipe[1]);
  const pid_t own = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return unreachable(path, std::strerror(errno));
  if (pid == 0) read_as(user, path, wanted, to.get(), own);
  to = files::Descriptor();
  std::string bytes;
  const std::size_t most = sizeof(Head) + static_cast<std::size_t>(wanted.most);
  const bool is_whole = collect(from.get(), bytes, most, steady_clock::now() + kReadLimit);
  if (!is_whole) ::kill(pid, SIGKILL);
  if (::waitpid(pid, nullptr, is_whole ? 0 : WNOHANG) == 0) stuck_.push_back(pid);
  if (!is_whole) {
    return unreachable(
        path, fmt::format("its file system has not answered within {} s", kReadLimit.count()));
  }
  Head head;
  if (bytes.size() < sizeof head) return unreachable(path, "its reader ended");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.error != 0 || !head.is_regular) return error_of(head, path, user.name);
  bytes.erase(0, sizeof head);
  return PartRead{std::move(bytes), head.offset, head.at_end};
}

}  // namespace dove::slurm
