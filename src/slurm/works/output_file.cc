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
  std::int64_t size = 0;
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
  head.size = status.st_size;
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

Result<PartRead> part_of(std::string bytes, const std::string& path, const std::string& user) {
  Head head;
  if (bytes.size() < sizeof head) return unreachable(path, "its reader ended");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.error != 0 || !head.is_regular) return error_of(head, path, user);
  bytes.erase(0, sizeof head);
  return PartRead{std::move(bytes), head.offset, head.size, head.at_end};
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

OutputFiles::~OutputFiles() {
  for (const Reading& one : readings_) {
    ::kill(one.pid, SIGKILL);
    ::waitpid(one.pid, nullptr, WNOHANG);
  }
}

std::size_t OutputFiles::slow_of(const std::string& user) const {
  const Time since = steady_clock::now() - slow_;
  const auto is_slow = [&](const auto& one) { return one.user == user && one.begun <= since; };
  return static_cast<std::size_t>(std::count_if(readings_.begin(), readings_.end(), is_slow) +
                                  std::count_if(left_.begin(), left_.end(), is_slow));
}

Result<OutputFiles::Reading> OutputFiles::start(const PartWanted& wanted) {
  TRY_ASSIGN(const LinuxUser user, linux_user(wanted.user));
  std::string path = path_of(wanted, user);
  std::erase_if(left_, [](const Left& one) { return ::waitpid(one.pid, nullptr, WNOHANG) != 0; });
  if (slow_of(user.name) >= kSlowMax) return unreachable(path, "its file system does not answer");
  if (readings_.size() + left_.size() >= kProcessesMax) {
    return unreachable(path, fmt::format("{} files are being read", kProcessesMax));
  }
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return unreachable(path, std::strerror(errno));
  files::Descriptor from(pipe[0]);
  const files::Descriptor to(pipe[1]);
  const pid_t own = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return unreachable(path, std::strerror(errno));
  if (pid == 0) read_as(user, path, wanted, to.get(), own);
  const std::size_t most = sizeof(Head) + static_cast<std::size_t>(wanted.most);
  return Reading{wanted.name,     user.name, std::move(path),     pid,
                 std::move(from), most,      steady_clock::now(), ""};
}

void OutputFiles::begin(const PartWanted& wanted) {
  Result<Reading> reading = start(wanted);
  if (!reading.ok()) return void(done_.push_back({wanted.name, reading.error()}));
  readings_.push_back(std::move(*reading));
}

// Its process is not waited for: what it ends with may take long.
void OutputFiles::leave(Reading& reading, Result<PartRead> part) {
  ::kill(reading.pid, SIGKILL);
  left_.push_back({reading.pid, reading.user, reading.begun});
  done_.push_back({reading.name, std::move(part)});
  readings_.remove_if([&](const Reading& one) { return &one == &reading; });
}

void OutputFiles::leave_late() {
  const Time since = steady_clock::now() - limit_;
  for (auto next = readings_.begin(); next != readings_.end();) {
    Reading& one = *next++;
    if (one.begun > since) continue;
    const auto limit_s = std::chrono::duration_cast<std::chrono::seconds>(limit_).count();
    leave(one, unreachable(one.path,
                           fmt::format("its file system has not answered within {} s", limit_s)));
  }
}

// REQUIRES: there is something, or it is at its end.
void OutputFiles::take(Reading& reading) {
  std::array<char, 64 << 10> room{};
  const ssize_t now = ::read(reading.from.get(), room.data(), room.size());
  if (now < 0 && errno == EINTR) return;
  if (now > 0) reading.bytes.append(room.data(), static_cast<std::size_t>(now));
  if (now > 0 && reading.bytes.size() <= reading.most) return;
  leave(reading, part_of(std::move(reading.bytes), reading.path, reading.user));
}

std::optional<PartDone> OutputFiles::next(std::chrono::milliseconds wait) {
  const Time end = steady_clock::now() + wait;
  while (done_.empty() && !readings_.empty()) {
    std::vector<pollfd> watched;
    for (const Reading& one : readings_) watched.push_back({one.from.get(), POLLIN, 0});
    const Time until = std::min(end, readings_.front().begun + limit_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    const auto wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const int ready = ::poll(watched.data(), watched.size(), wait_ms);
    auto next = readings_.begin();
    for (const pollfd& one : watched) {
      Reading& reading = *next++;
      if (ready > 0 && one.revents != 0) take(reading);
    }
    leave_late();
    if (steady_clock::now() >= end) break;
  }
  if (done_.empty()) return std::nullopt;
  PartDone done = std::move(done_.front());
  done_.pop_front();
  return done;
}

}  // namespace dove::slurm
