#include "slurm/works/step_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/exec_words.h"

namespace dove::slurm {
namespace {

constexpr int kNotStarted = 127;

Error failed(const char* what) {
  return Error{ErrorKind::kInternal, "cannot_start",
               fmt::format("{} fails: {}", what, std::strerror(errno)), ""};
}

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
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

[[noreturn]] void become_srun(const Kept& kept, int input, int said) {
  plain_signals();
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const bool is_set = nothing >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
                      ::dup2(nothing, STDOUT_FILENO) >= 0 && ::dup2(said, STDERR_FILENO) >= 0;
  if (!is_set || ::close_range(3, ~0U, 0) != 0 || ::chdir("/") != 0 || !become(kept.user)) {
    ::_exit(kNotStarted);
  }
  const std::vector<char*> words = pointers(kept.words);
  const std::vector<char*> environment = pointers(kept.environment);
  ::execvpe(words[0], words.data(), environment.data());
  const char text[] = "srun cannot be started\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(kNotStarted);
}

// What srun says, to a file that cannot grow beyond kSaidMax.
class Said {
 public:
  Said(int source, int file) : source_(source), file_(file) {}

  // False: there is no more at the moment, or at all.
  bool take() {
    const ssize_t bytes = ::read(source_, room_.data(), room_.size());
    if (bytes < 0 && errno == EINTR) return true;
    if (bytes <= 0) return false;
    const auto size = static_cast<std::size_t>(bytes);
    const std::size_t first = std::min(size, kHalf - first_bytes_);
    put(room_.data(), first);
    first_bytes_ += first;
    for (std::size_t i = first; i < size; ++i) last_[last_bytes_++ % kHalf] = room_[i];
    return true;
  }

  void put_last() const {
    const std::size_t begin = last_bytes_ > kHalf ? last_bytes_ % kHalf : 0;
    put(last_.data() + begin, std::min(last_bytes_, kHalf) - begin);
    put(last_.data(), begin);
  }

 private:
  static constexpr std::size_t kHalf = kSaidMax / 2;

  void put(const char* text, std::size_t size) const {
    while (size > 0) {
      const ssize_t written = ::write(file_, text, size);
      if (written <= 0) return;  // a full disk: the exit code is known all the same
      text += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  int source_;
  int file_;
  std::size_t first_bytes_ = 0;
  std::size_t last_bytes_ = 0;  // that went by since
  std::array<char, kHalf> last_{};
  std::array<char, 16 << 10> room_{};
};

// Readable with each change of the directory; not open where the kernel has none to give.
files::Descriptor watch(const std::string& directory) {
  files::Descriptor changes(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (changes.is_open()) {
    ::inotify_add_watch(changes.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO);
  }
  return changes;
}

// Whether srun has been given up. Reads what `changes` has to say.
bool is_given_up(int changes, const std::string& directory) {
  std::array<char, 4096> room{};
  while (::read(changes, room.data(), room.size()) > 0) {
  }
  return ::access((directory + "/" + kGivenUp_file).c_str(), F_OK) == 0;
}

// Its wait status, once it has ended. What it leaves running may hold its standard error open.
int listen_until_end(pid_t srun, int source, int file, const std::string& directory) {
  Said said(source, file);
  const files::Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, srun, 0)));
  const files::Descriptor changes = watch(directory);
  std::array<pollfd, 3> polls{
      {{source, POLLIN, 0}, {end.get(), POLLIN, 0}, {changes.get(), POLLIN, 0}}};
  // It may have been before the watch was there.
  bool look = true;
  std::int64_t kill_at_ms = 0;
  while (end.is_open() && polls[1].revents == 0) {
    if (std::exchange(look, false) && is_given_up(polls[2].fd, directory) && kill_at_ms == 0) {
      kill_at_ms = now_ms() + kGiveUp_s * 1000;
    }
    const std::int64_t left_ms = kill_at_ms - now_ms();
    if (kill_at_ms > 0 && left_ms <= 0) ::kill(srun, SIGKILL);
    const int wait_ms = kill_at_ms == 0 ? -1 : left_ms > 0 ? static_cast<int>(left_ms) : 1000;
    if (::poll(polls.data(), polls.size(), wait_ms) < 0 && errno != EINTR) break;
    if (polls[0].revents != 0 && !said.take()) polls[0].fd = -1;
    look = polls[2].revents != 0;
  }
  // Where a kernel or a sandbox has no such descriptors: until all have closed it. A full pipe
  // would stop srun.
  while (!end.is_open() && said.take()) {
  }
  int status = kNotStarted << 8;
  while (::waitpid(srun, &status, 0) < 0 && errno == EINTR) {
  }
  ::fcntl(source, F_SETFL, O_NONBLOCK);
  // At most what the pipe holds: others may go on writing.
  for (int left = 16; left > 0 && said.take(); --left) {
  }
  said.put_last();
  return status;
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

[[noreturn]] void keep(const Kept& kept, int directory, int input, int file) {
  ::setsid();
  close_others({directory, input, file, kept.lock});
  // Only the end of srun ends it.
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  int status = kNotStarted << 8;
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) == 0) {
    const pid_t srun = ::fork();
    if (srun == 0) become_srun(kept, input, pipe[1]);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
    ::close(input);
    ::close(pipe[1]);
    if (srun > 0) status = listen_until_end(srun, pipe[0], file, kept.directory);
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
