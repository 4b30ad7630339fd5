#include "slurm/step_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dove::slurm {
namespace {

constexpr int kNotStarted = 127;

Error failed(const char* what) {
  return Error{ErrorKind::kInternal, "cannot_start",
               fmt::format("{} fails: {}", what, std::strerror(errno)), ""};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// In memory alone: a script may hold what others must not read.
Result<files::Descriptor> as_file(const std::string& text) {
  files::Descriptor file(::memfd_create("script", MFD_CLOEXEC));
  if (!file.is_open()) return failed("memfd_create");
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t now = ::write(file.get(), text.data() + written, text.size() - written);
    if (now < 0) return failed("write");
    written += static_cast<std::size_t>(now);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failed("lseek");
  return file;
}

void plain_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The user's rights, and nothing more. Nothing comes back from it.
bool become(const Kept& kept) {
  if (::geteuid() == 0) {
    if (::initgroups(kept.user.c_str(), kept.gid) != 0) return false;
    if (::setresgid(kept.gid, kept.gid, kept.gid) != 0) return false;
    if (::setresuid(kept.uid, kept.uid, kept.uid) != 0) return false;
  }
  return ::getuid() == kept.uid && ::geteuid() == kept.uid;
}

[[noreturn]] void become_srun(const Kept& kept, int input, int said) {
  plain_signals();
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const bool is_set = nothing >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
                      ::dup2(nothing, STDOUT_FILENO) >= 0 && ::dup2(said, STDERR_FILENO) >= 0;
  if (!is_set || ::close_range(3, ~0U, 0) != 0 || ::chdir("/") != 0 || !become(kept)) {
    ::_exit(kNotStarted);
  }
  const std::vector<char*> words = pointers(kept.words);
  const std::vector<char*> environment = pointers(kept.environment);
  ::execvpe(words[0], words.data(), environment.data());
  const char text[] = "srun cannot be started\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(kNotStarted);
}

// The end counts once it has its name.
void write_end(int directory, int status) {
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const std::string text = std::to_string(code) + "\n";
  const int file = ::openat(directory, "end.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::fsync(file) != 0 || ::close(file) != 0 || !whole) return;
  ::renameat(directory, "end.new", directory, "end");
}

// All but these.
void close_others(std::array<int, 4> open) {
  std::sort(open.begin(), open.end());
  unsigned next = 3;
  for (const int fd : open) {
    const auto at = static_cast<unsigned>(fd);
    if (at > next) ::close_range(next, at - 1, 0);
    next = std::max(next, at + 1);
  }
  ::close_range(next, ~0U, 0);
}

[[noreturn]] void keep(const Kept& kept, int directory, int input, int said) {
  ::setsid();
  close_others({directory, input, said, kept.lock});
  // Only the end of srun ends it.
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t srun = ::fork();
  if (srun == 0) become_srun(kept, input, said);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
  ::close(input);
  ::close(said);
  int status = kNotStarted << 8;
  if (srun > 0) {
    while (::waitpid(srun, &status, 0) < 0 && errno == EINTR) {
    }
  }
  write_end(directory, status);
  ::_exit(0);
}

}  // namespace

Result<void> keep_step(const Kept& kept) {
  const files::Descriptor directory(
      ::open(kept.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return failed("open");
  const files::Descriptor said(
      ::openat(directory.get(), "said", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!said.is_open()) return failed("open");
  TRY_ASSIGN(const files::Descriptor input, as_file(kept.input));
  // The keeper is nobody's child that would have to be waited for.
  const pid_t between = ::fork();
  if (between < 0) return failed("fork");
  if (between == 0) {
    const pid_t keeper = ::fork();
    if (keeper == 0) keep(kept, directory.get(), input.get(), said.get());
    ::_exit(keeper < 0 ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(between, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return {};
  errno = EAGAIN;
  return failed("fork");
}

}  // namespace dove::slurm
