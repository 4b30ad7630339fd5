#include "cli/terminal/raw_terminal.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

namespace dove::cli {
namespace {

termios g_cooked;
bool g_is_raw = false;

void restore_terminal() {
  if (g_is_raw) tcsetattr(STDIN_FILENO, TCSADRAIN, &g_cooked);
  g_is_raw = false;
}

}  // namespace

RawTerminal::~RawTerminal() { restore(); }

// False: stdin is no terminal.
bool RawTerminal::save() {
  if (active_) return true;
  if (isatty(STDIN_FILENO) != 1 || tcgetattr(STDIN_FILENO, &g_cooked) != 0) return false;
  std::atexit(restore_terminal);
  active_ = true;
  return true;
}

void RawTerminal::enter() {
  if (!save()) return;
  termios raw = g_cooked;
  cfmakeraw(&raw);
  g_is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void RawTerminal::enter_keys() {
  if (!save()) return;
  termios keys = g_cooked;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  keys.c_iflag &= ~static_cast<tcflag_t>(IXON);
  g_is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0;
}

std::optional<char> RawTerminal::key(int wait_ms) {
  pollfd watched{active_ ? STDIN_FILENO : -1, POLLIN, 0};
  char key = 0;
  if (poll(&watched, 1, wait_ms) <= 0) return std::nullopt;
  const ssize_t got = read(STDIN_FILENO, &key, 1);
  if (got == 0) active_ = false;  // it hung up
  return got == 1 ? std::optional(key) : std::nullopt;
}

void RawTerminal::restore() { restore_terminal(); }

}  // namespace dove::cli
