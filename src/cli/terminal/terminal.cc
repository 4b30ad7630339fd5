#include "cli/terminal/terminal.h"

#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>

namespace dove::cli {
namespace {

termios g_saved_terminal;

void restore_and_die(int signal_number) {
  tcsetattr(STDIN_FILENO, TCSANOW, &g_saved_terminal);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (std::string_view candidate : words) {
    if (word == candidate) return true;
  }
  return false;
}

}  // namespace

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

bool colours_on() {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && no_color[0] != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return stdout_is_terminal();
}

TerminalSize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

std::string styled(std::string_view text, std::string_view style, bool colours) {
  if (!colours || style.empty()) return std::string(text);
  return "\x1b[" + std::string(style) + "m" + std::string(text) + "\x1b[0m";
}

std::string state_style(std::string_view state) {
  if (is_one_of(state, {"running", "connected", "idle", "mixed", "allocated"})) return "32";
  if (is_one_of(state, {"waiting", "held", "preparing", "starting", "stopping", "silent", "broken",
                        "draining", "drained"})) {
    return "33";
  }
  if (is_one_of(state, {"failed", "timed_out", "node_lost", "dependency_never_met",
                        "deadline_missed", "stopped_idle", "lost", "expelled", "down"})) {
    return "31";
  }
  if (is_one_of(state, {"completed", "cancelled"})) return "2";
  return "";
}

KeyReader::KeyReader() {
  if (isatty(STDIN_FILENO) != 1 || tcgetattr(STDIN_FILENO, &g_saved_terminal) != 0) return;
  termios raw = g_saved_terminal;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  active_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  if (active_) {
    signal(SIGINT, restore_and_die);
    signal(SIGTERM, restore_and_die);
  }
}

KeyReader::~KeyReader() {
  if (!active_) return;
  tcsetattr(STDIN_FILENO, TCSANOW, &g_saved_terminal);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

char KeyReader::key(int wait_ms) {
  pollfd watched{active_ ? STDIN_FILENO : -1, POLLIN, 0};
  if (poll(&watched, 1, wait_ms) <= 0) return 0;
  char c = 0;
  return read(STDIN_FILENO, &c, 1) == 1 ? c : '\0';
}

std::string local_user() {
  const passwd* entry = getpwuid(geteuid());
  if (entry != nullptr) return entry->pw_name;
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

std::string local_host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string full = name.data();
  return full.substr(0, full.find('.'));
}

std::string local_home() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return home;
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? "/" : entry->pw_dir;
}

}  // namespace dove::cli
