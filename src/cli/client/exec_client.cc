#include "cli/client/exec_client.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/client/api.h"
#include "cli/client/own_streams.h"
#include "cli/client/task_link.h"
#include "cli/terminal/output.h"
#include "cli/terminal/raw_terminal.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "wire/loop.h"
#include "wire/web_socket/piece.h"
#include "wire/web_socket/web_socket.h"

namespace dove::cli {
namespace {

using wire::Channel;

constexpr std::size_t kTextBytesMax = 1 << 20;

class ExecClient {
 public:
  ExecClient(std::string name, const Endpoint& endpoint, const ExecWanted& wanted)
      : name_(std::move(name)), endpoint_(endpoint), wanted_(wanted) {}

  Result<int> run() {
    TRY_ASSIGN(const TaskLink link, TaskLink::find(endpoint_));
    signal(SIGPIPE, SIG_IGN);
    loop_.on_signal({SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT},
                    [this](int number) { heard(number); });
    wire::WebSocketCallbacks callbacks;
    callbacks.on_text = [this](std::string_view text) { hear(text); };
    callbacks.on_bytes = [this](std::string_view message) { print(message); };
    callbacks.on_closed = [this](const Error& error) { closed(error); };
    writer_ = std::make_unique<OutputWriter>(
        loop_, [this](std::size_t bytes) { took(bytes); }, [this] { leave(SIGPIPE); });
    socket_ = link.open(loop_, job_target(wanted_.job, "/exec"), std::move(callbacks));
    protocol::ExecWish wish = wanted_.wish;
    const TerminalSize size = terminal_size();
    wish.program.rows = size.rows;
    wish.program.columns = size.columns;
    say({.exec = std::move(wish)});
    loop_.run();
    writer_.reset();  // writes the rest
    reader_.reset();
    raw_.restore();
    if (code_) return *code_;
    return failure_;
  }

 private:
  void say(const protocol::LinkWord& word) { socket_->send_text(protocol::link_word(word)); }

  void hear(std::string_view text) {
    const Result<protocol::LinkWord> said = protocol::read_link_word(text, kTextBytesMax);
    if (!said.ok()) return;
    if (said->begun) {
      begin();
    } else if (said->took) {
      window_.take(*said->took);
      ask_input();
    } else if (said->exit) {
      tell_exit(*said->exit);
    } else if (said->notice) {
      warn(*said->notice);
    } else if (said->error) {
      fail(error_of_word(*said->error));
    }
  }

  void begin() {
    if (wanted_.wish.program.terminal && wanted_.wish.program.input) raw_.enter();
    if (!wanted_.wish.program.input || reader_ != nullptr) return;
    reader_ = std::make_unique<StdinReader>(loop_, wire::kPiece_bytes,
                                            [this](std::string piece) { send(std::move(piece)); });
  }

  void send(std::string piece) {
    if (piece.empty()) return say({.end = true});
    window_.add(piece.size());
    socket_->send_bytes(wire::piece_bytes(Channel::kStdin, piece));
    waits_ = true;
    ask_input();
  }

  void ask_input() {
    if (!waits_ || reader_ == nullptr || window_.left() < wire::kPiece_bytes) return;
    waits_ = false;
    reader_->next();
  }

  void print(std::string_view message) {
    const Result<wire::Piece> piece = wire::read_piece(message);
    if (!piece.ok()) return fail(piece.error());
    const int fd = piece->channel == Channel::kStderr ? STDERR_FILENO : STDOUT_FILENO;
    writer_->write(fd, std::string(piece->bytes));
  }

  // What is ours was never under way.
  void took(std::size_t bytes) {
    const std::size_t own = std::min(bytes, own_bytes_);
    own_bytes_ -= own;
    if (bytes > own) say({.took = static_cast<std::int64_t>(bytes - own)});
  }

  // As wall(1) writes on the terminals of those who are signed in.
  void warn(const std::string& line) {
    if (!wanted_.wish.program.terminal || line.empty()) return;
    std::string text = fmt::format("\r\n*** dove: {} ***\r\n", printable(line));
    own_bytes_ += text.size();
    writer_->write(STDERR_FILENO, std::move(text));
  }

  void tell_exit(const TaskExit& exit) {
    if (code_) return;
    code_ = exit.signal != 0 ? 128 + exit.signal : exit.exit_code;
    if (*code_ == 0 && !exit.cause.empty()) code_ = 1;
    if (!exit.cause.empty()) message_at_end(exit.cause);
    loop_.stop();
  }

  void fail(const Error& error) {
    if (code_ || failed_) return;
    failed_ = true;
    failure_ = error;
    loop_.stop();
  }

  void closed(const Error& error) { fail(error_of_closed(error, "command")); }

  void heard(int number) {
    if (number == SIGWINCH || number == SIGCONT) {
      if (!wanted_.wish.program.terminal) return;
      if (number == SIGCONT && reader_ != nullptr) raw_.enter();
      const TerminalSize size = terminal_size();
      return say({.resize = protocol::ScreenSize{size.rows, size.columns}});
    }
    const bool passes = (number == SIGINT || number == SIGQUIT) && passed_ == 0;
    if (!passes) return leave(number);
    passed_ = number;
    say({.signal = number});
  }

  void leave(int number) {
    if (!code_) code_ = 128 + number;
    loop_.stop();
  }

  // Once the terminal is ours again.
  void message_at_end(const std::string& text) {
    raw_.restore();
    writer_->write(STDERR_FILENO, fmt::format("{}: {}\n", name_, text));
  }

  const std::string name_;
  const Endpoint endpoint_;
  const ExecWanted wanted_;
  wire::Loop loop_;
  std::unique_ptr<wire::WebSocket> socket_;
  std::unique_ptr<OutputWriter> writer_;
  std::unique_ptr<StdinReader> reader_;
  RawTerminal raw_;
  wire::Window window_;
  bool waits_ = false;         // the reader, for next()
  std::size_t own_bytes_ = 0;  // that are to be written, and are no output of the command
  int passed_ = 0;             // the signal that the command got
  std::optional<int> code_;
  bool failed_ = false;
  Error failure_;
};

}  // namespace

Result<int> run_exec(const std::string& name, const Endpoint& endpoint, const ExecWanted& wanted) {
  return ExecClient(name, endpoint, wanted).run();
}

}  // namespace dove::cli
