#include "agent/exec/exec_ends.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/aside/linux_user.h"

namespace dove::agent {
namespace {

constexpr int kCellsMax = 10'000;

Error cannot_make(const std::string& what) {
  return Error{ErrorKind::kUnavailable, "exec_failed",
               fmt::format("cannot make {} for the command: {}", what, std::strerror(errno)), ""};
}

bool give_to(const std::string& path, const std::string& linux_user, mode_t mode) {
  if (::chmod(path.c_str(), mode) != 0) return false;
  if (linux_user.empty()) return true;
  const std::optional<LinuxUser> user = known_linux_user(linux_user);
  return user && ::chown(path.c_str(), user->uid, user->gid) == 0;
}

}  // namespace

ExecEnds::~ExecEnds() { close(); }

ExecEnds::ExecEnds(ExecEnds&& other) noexcept { *this = std::move(other); }

ExecEnds& ExecEnds::operator=(ExecEnds&& other) noexcept {
  if (this == &other) return *this;
  close();
  in_ = std::exchange(other.in_, -1);
  out_ = std::exchange(other.out_, -1);
  err_ = std::exchange(other.err_, -1);
  terminal_path_ = std::exchange(other.terminal_path_, "");
  pipes_path_ = std::exchange(other.pipes_path_, "");
  return *this;
}

Result<ExecEnds> ExecEnds::terminal(const std::string& linux_user, TerminalSize size) {
  ExecEnds ends;
  ends.out_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  char path[64];
  if (ends.out_ < 0 || ::grantpt(ends.out_) != 0 || ::unlockpt(ends.out_) != 0 ||
      ::ptsname_r(ends.out_, path, sizeof path) != 0) {
    return cannot_make("a terminal");
  }
  // Watched for writing beside its twin.
  ends.in_ = ::fcntl(ends.out_, F_DUPFD_CLOEXEC, 3);
  ends.terminal_path_ = path;
  if (ends.in_ < 0 || !give_to(path, linux_user, 0620)) return cannot_make("a terminal");
  ends.resize(size);
  return ends;
}

Result<ExecEnds> ExecEnds::pipes(const std::string& path, const std::string& linux_user,
                                 bool takes_input) {
  ExecEnds ends;
  ends.pipes_path_ = path;
  const std::pair<const char*, int*> kEnds[] = {
      {"in", &ends.in_}, {"out", &ends.out_}, {"err", &ends.err_}};
  for (const auto& [name, fd] : kEnds) {
    if (fd == &ends.in_ && !takes_input) continue;
    const std::string file = fmt::format("{}.{}", path, name);
    if (::mkfifo(file.c_str(), 0600) != 0 || !give_to(file, linux_user, 0600)) {
      return cannot_make(file);
    }
    // The input for reading too: it is open before the command is there.
    const int how = fd == &ends.in_ ? O_RDWR : O_RDONLY;
    *fd = ::open(file.c_str(), how | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0) return cannot_make(file);
  }
  return ends;
}

std::string ExecEnds::path_of(const char* end) const {
  if (pipes_path_.empty() || (std::strcmp(end, "in") == 0 && in_ < 0)) return "";
  return fmt::format("{}.{}", pipes_path_, end);
}

void ExecEnds::resize(TerminalSize size) const {
  if (terminal_path_.empty() || out_ < 0) return;
  winsize now{};
  now.ws_row = static_cast<unsigned short>(std::clamp(size.rows, 1, kCellsMax));
  now.ws_col = static_cast<unsigned short>(std::clamp(size.columns, 1, kCellsMax));
  ::ioctl(out_, TIOCSWINSZ, &now);
}

void ExecEnds::end_input() {
  if (in_ < 0) return;
  termios modes{};
  if (!terminal_path_.empty() && ::tcgetattr(in_, &modes) == 0) {
    const char key = static_cast<char>(modes.c_cc[VEOF]);
    // A program that reads raw keys gets none: it knows no end of a file.
    if ((modes.c_lflag & ICANON) != 0 && ::write(in_, &key, 1) < 0) return;
    return;
  }
  ::close(std::exchange(in_, -1));
}

void ExecEnds::close() {
  for (int* fd : {&in_, &out_, &err_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  if (pipes_path_.empty()) return;
  for (const char* name : {"in", "out", "err"}) {
    ::unlink(fmt::format("{}.{}", pipes_path_, name).c_str());
  }
  pipes_path_.clear();
}

}  // namespace dove::agent
