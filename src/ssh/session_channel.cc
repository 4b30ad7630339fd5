#include "ssh/session_channel.h"

#include <fmt/format.h>
#include <libssh/server.h>

#include <chrono>
#include <utility>

#include "wire/http.h"

namespace dove::ssh {
namespace {

constexpr std::size_t kWordBytesMax = 1 << 20;
constexpr std::size_t kCommandBytesMax = 128 << 10;
constexpr std::size_t kTermBytesMax = 64;
constexpr std::size_t kVariablesMax = 32;
constexpr int kSizeMax = 10'000;
constexpr int kBroken = 255;  // what ssh itself exits with when it cannot go on

// The task's shell, if there is one here; what it is to run is an argument, never a part of this.
constexpr char kRun[] =
    "[ -x \"$SHELL\" ] || SHELL=/bin/sh; export SHELL; exec \"$SHELL\" -c \"$1\"";
constexpr char kShell[] =
    "[ -x \"$SHELL\" ] || SHELL=$(command -v bash || echo /bin/sh); export SHELL; exec \"$SHELL\" "
    "-l";
constexpr char kSftp[] = "dove-sftp";  // the agent knows where it is

// A client without a window says 0 x 0, and means that nobody knows.
int size_of(int given, int usual) { return given <= 0 ? usual : std::min(given, kSizeMax); }

SessionChannel* self(void* data) { return static_cast<SessionChannel*>(data); }

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

SessionChannel::SessionChannel(const Host& host, ssh_channel channel, std::function<void()> over)
    : host_(host), channel_(channel), over_(std::move(over)), pipe_(channel) {
  listen();
}

SessionChannel::~SessionChannel() {
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(channel_);
}

void SessionChannel::listen() {
  callbacks_.userdata = this;
  callbacks_.channel_data_function = [](ssh_session, ssh_channel, void* data, std::uint32_t size,
                                        int is_stderr, void* own) {
    if (is_stderr != 0) return static_cast<int>(size);
    return self(own)->pipe_.take({static_cast<const char*>(data), size});
  };
  callbacks_.channel_eof_function = [](ssh_session, ssh_channel, void* own) {
    self(own)->pipe_.client_ended();
  };
  callbacks_.channel_close_function = [](ssh_session, ssh_channel, void* own) {
    self(own)->client_gone();
  };
  callbacks_.channel_signal_function = [](ssh_session, ssh_channel, const char* name, void* own) {
    self(own)->signal(name);
  };
  callbacks_.channel_pty_request_function = [](ssh_session, ssh_channel, const char* term,
                                               int columns, int rows, int, int, void* own) {
    return self(own)->set_terminal(term, columns, rows) ? 0 : -1;
  };
  callbacks_.channel_pty_window_change_function = [](ssh_session, ssh_channel, int columns,
                                                     int rows, int, int, void* own) {
    self(own)->resize(columns, rows);
    return 0;
  };
  callbacks_.channel_env_request_function = [](ssh_session, ssh_channel, const char* name,
                                               const char* value, void* own) {
    return self(own)->set_variable(name, value) ? 0 : 1;
  };
  callbacks_.channel_shell_request_function = [](ssh_session, ssh_channel, void* own) {
    return self(own)->start({"/bin/sh", "-c", kShell}) ? 0 : 1;
  };
  callbacks_.channel_exec_request_function = [](ssh_session, ssh_channel, const char* command,
                                                void* own) {
    return self(own)->start({"/bin/sh", "-c", kRun, "sh", command}) ? 0 : 1;
  };
  callbacks_.channel_subsystem_request_function = [](ssh_session, ssh_channel, const char* name,
                                                     void* own) {
    return std::string_view(name) == "sftp" && self(own)->start({kSftp}) ? 0 : 1;
  };
  callbacks_.channel_write_wontblock_function = [](ssh_session, ssh_channel, std::uint32_t,
                                                   void* own) {
    self(own)->pipe_.write_some();
    self(own)->finish();
    return 0;
  };
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_, &callbacks_);
}

bool SessionChannel::set_terminal(std::string_view term, int columns, int rows) {
  if (started_ || has_terminal_ || term.size() > kTermBytesMax) return false;
  has_terminal_ = true;
  const bool is_word = !term.empty() && term.find_first_of(" /\t\r\n") == std::string_view::npos;
  environment_["TERM"] = is_word ? std::string(term) : "xterm";
  rows_ = size_of(rows, rows_);
  columns_ = size_of(columns, columns_);
  return true;
}

bool SessionChannel::set_variable(std::string_view name, std::string_view value) {
  if (started_ || environment_.size() >= kVariablesMax || !may_set(name, value)) return false;
  environment_[std::string(name)] = value;
  return true;
}

bool SessionChannel::start(std::vector<std::string> command) {
  if (std::exchange(started_, true) || command.back().size() > kCommandBytesMax) return false;
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [this](std::string_view text) { hear(text); };
  callbacks.on_bytes = [this](std::string_view message) {
    if (!pipe_.hear_piece(message)) return fail("the server breaks the protocol");
    host_.has_written();
  };
  callbacks.on_closed = [this](const Error& closed) { fail(message_of_closed(closed)); };
  socket_ = host_.server.open(host_.loop, host_.token,
                              "/v1/jobs/" + wire::percent_encode(host_.where.job) + "/exec",
                              std::move(callbacks));
  say({.exec = protocol::ExecWish{.task = host_.where.task,
                                  .program = {.command = std::move(command),
                                              .environment = environment_,
                                              .terminal = has_terminal_,
                                              .input = true,
                                              .rows = rows_,
                                              .columns = columns_}}});
  return true;
}

void SessionChannel::resize(int columns, int rows) {
  rows_ = size_of(rows, rows_);
  columns_ = size_of(columns, columns_);
  if (started_) say({.resize = protocol::ScreenSize{rows_, columns_}});
}

void SessionChannel::signal(std::string_view name) {
  if (const int number = signal_of(name); number != 0) say({.signal = number});
}

void SessionChannel::say(const protocol::LinkWord& word) {
  if (socket_ != nullptr) socket_->send_text(protocol::link_word(word));
}

void SessionChannel::hear(std::string_view text) {
  const Result<protocol::LinkWord> said = protocol::read_link_word(text, kWordBytesMax);
  if (!said.ok()) return;
  if (said->begun) {
    pipe_.join(*socket_);
  } else if (said->took) {
    if (!pipe_.hear_took(*said->took)) fail("the server breaks the protocol");
  } else if (said->exit) {
    hear_exit(*said->exit);
  } else if (said->notice) {
    if (has_terminal_ && !said->notice->empty()) {
      pipe_.tell(fmt::format("\r\n*** dove: {} ***\r\n", one_line(*said->notice)));
    }
  } else if (said->error) {
    fail(said->error->message);
  }
  host_.has_written();
}

void SessionChannel::hear_exit(const TaskExit& exit) {
  if (std::exchange(told_, true)) return;
  exit_signal_ = exit.signal;
  exit_code_ = exit.exit_code;
  if (!exit.cause.empty()) {
    if (exit_code_ == 0 && exit_signal_ == 0) exit_code_ = 1;
    pipe_.tell(fmt::format("dove: {}\r\n", exit.cause));
  }
  finish();
}

void SessionChannel::fail(const std::string& message) {
  if (std::exchange(told_, true)) return;
  exit_code_ = kBroken;
  pipe_.tell(fmt::format("dove: {}\r\n", message));
  finish();
  host_.has_written();
}

// How the command ended, behind all that it wrote.
void SessionChannel::finish() {
  if (!told_ || is_over_ || !pipe_.all_written()) return;
  is_over_ = true;
  const std::string signal(signal_name(exit_signal_));
  if (!signal.empty()) {
    ssh_channel_request_send_exit_signal(channel_, signal.c_str(), 0, "", "");
  } else {
    ssh_channel_request_send_exit_status(channel_,
                                         exit_signal_ != 0 ? 128 + exit_signal_ : exit_code_);
  }
  ssh_channel_send_eof(channel_);
  ssh_channel_close(channel_);
  host_.has_written();
  end();
}

// Whoever leaves ends the command.
void SessionChannel::client_gone() {
  if (std::exchange(is_over_, true)) return;
  ssh_channel_close(channel_);
  end();
}

void SessionChannel::end() {
  pipe_.leave();
  timer_ = host_.loop.after(std::chrono::microseconds(0), [over = over_] { over(); });
}

}  // namespace dove::ssh
