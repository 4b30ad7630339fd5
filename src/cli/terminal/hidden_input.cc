#include "cli/terminal/hidden_input.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "files/descriptor.h"

namespace dove::cli {
namespace {

// A terminal gives no longer line, and drops the rest without a word.
constexpr std::size_t kBytesMax = 4095;
constexpr char kInterrupt = 3;

// The terminal's echo, off while it lives; signals wait, so that it comes back.
class NoEcho {
 public:
  explicit NoEcho(int fd) : fd_(fd) {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) sigaddset(&ends, number);
    pthread_sigmask(SIG_BLOCK, &ends, &former_signals_);
    if (tcgetattr(fd_, &former_) != 0) return;
    termios quiet = former_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    quiet.c_lflag |= ICANON;
    quiet.c_cc[VEOL] = kInterrupt;  // ends the line, so that Ctrl-C is heard at once
    is_off_ = tcsetattr(fd_, TCSAFLUSH, &quiet) == 0;
  }
  ~NoEcho() {
    if (is_off_) tcsetattr(fd_, TCSAFLUSH, &former_);
    pthread_sigmask(SIG_SETMASK, &former_signals_, nullptr);
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;
  bool is_off() const { return is_off_; }

 private:
  int fd_;
  termios former_{};
  sigset_t former_signals_{};
  bool is_off_ = false;
};

void write_text(int fd, const std::string& text) {
  // Who does not see the question may still answer it.
  if (::write(fd, text.data(), text.size()) < 0) return;
}

}  // namespace

Result<std::string> ask_hidden(const std::string& question) {
  const files::Descriptor terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const Error none{ErrorKind::kInvalid, "no_terminal",
                   "there is no terminal to ask on; give the text on standard input with `-`", ""};
  if (terminal.get() < 0) return none;
  const NoEcho quiet(terminal.get());
  if (!quiet.is_off()) return none;
  write_text(terminal.get(), question);
  std::string line;
  char c = 0;
  ssize_t got = 0;
  while (line.size() < kBytesMax) {
    got = ::read(terminal.get(), &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || c == '\n' || c == kInterrupt) break;
    line += c;
  }
  write_text(terminal.get(), "\n");
  if (line.size() >= kBytesMax) {
    return Error{ErrorKind::kInvalid, "input_too_long",
                 "a terminal takes lines of less than 4095 bytes; give the text in a file", ""};
  }
  if (got > 0 && c != kInterrupt) return line;
  return Error{ErrorKind::kInvalid, "input_ended", "nothing was given, and nothing is changed", ""};
}

}  // namespace dove::cli
