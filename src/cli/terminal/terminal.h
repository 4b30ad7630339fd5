// What the terminal supports, asked once per use: colours, size, a single key.
//
// The process's own stdin and stdout; one thread.
#pragma once

#include <string>
#include <string_view>

namespace dove::cli {

// stdout is a terminal, NO_COLOR is not set and TERM is not "dumb".
bool colours_on();
bool stdout_is_terminal();
// Rows and columns of stdout, 24 x 80 when it is none.
struct TerminalSize {
  int rows = 24;
  int columns = 80;
};
TerminalSize terminal_size();

// Wraps `text` in the SGR parameters `style` when colours are on.
std::string styled(std::string_view text, std::string_view style, bool colours);
// The colour of a job's or node's state, "" for none.
std::string state_style(std::string_view state);

// While it lives, stdin gives keys at once and without echo (nothing happens when stdin is no
// terminal), and an interrupt restores the terminal before it ends the process.
class KeyReader {
 public:
  KeyReader();
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;
  // Waits up to `wait_ms` for a key; 0 when none came.
  char key(int wait_ms);

 private:
  bool active_ = false;
};

// The name of the user who runs this process; "" when it has none.
std::string local_user();
// The host's name without its domain.
std::string local_host();
// $HOME, or the home of the user.
std::string local_home();

}  // namespace dove::cli
