#include "agent/exec/exec_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "protocol/link_words.h"
#include "telemetry/log.h"
#include "wire/http.h"

namespace dove::agent {
namespace {

using wire::Channel;

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::chrono::seconds kDrain{2};  // of a terminal whose command is over
constexpr int kSignalMax = 64;

Error broken(std::string what) {
  return Error{ErrorKind::kInvalid, "bad_message", std::move(what), ""};
}

}  // namespace

struct ExecSession::Output {
  Channel channel = Channel::kStdout;
  int fd = -1;
  bool over = false;
  bool watching = false;
  wire::FdWatch watch;
};

ExecSession::ExecSession(const ExecHost& host, ExecOrder order, Result<TaskPlan> plan,
                         std::string pipes_path, std::function<void()> over)
    : host_(host),
      order_(std::move(order)),
      plan_(std::move(plan)),
      pipes_path_(std::move(pipes_path)),
      over_(std::move(over)) {}

ExecSession::~ExecSession() = default;

void ExecSession::begin() {
  wire::WebSocketCallbacks callbacks;
  callbacks.on_open = [this] { opened(); };
  callbacks.on_text = [this](std::string_view text) { hear(text); };
  callbacks.on_bytes = [this](std::string_view message) { hear_piece(message); };
  callbacks.on_closed = [this](const Error&) {
    socket_.reset();
    hang_up();
  };
  socket_ = host_.dial(order_.id, std::move(callbacks));
}

void ExecSession::say(const protocol::LinkWord& word) {
  if (socket_ != nullptr) socket_->send_text(protocol::link_word(word));
}

// Nothing is started before there is somebody to hear of it.
void ExecSession::opened() {
  if (!why_.empty() && plan_.ok()) {
    plan_ = Error{ErrorKind::kConflict, "not_running", why_, ""};
  }
  const Result<void> started = plan_.ok() ? start() : Result<void>(plan_.error());
  if (!started.ok()) break_off(started.error());
}

Result<void> ExecSession::start() {
  TaskPlan& plan = *plan_;
  if (order_.program.terminal) {
    TRY_ASSIGN(ends_,
               ExecEnds::terminal(plan.linux_user, {order_.program.rows, order_.program.columns}));
    plan.terminal = ends_.terminal_path();
  } else {
    TRY_ASSIGN(ends_, ExecEnds::pipes(pipes_path_, plan.linux_user, order_.program.input));
    plan.stdin_path = ends_.path_of("in");
    plan.stdout_path = ends_.path_of("out");
    plan.stderr_path = ends_.path_of("err");
  }
  TRY_ASSIGN(task_, host_.runner->start(
                        plan, TaskCallbacks{[this] { started(); },
                                            [this](TaskEnd end) { task_ended(std::move(end)); }}));
  for (const Channel channel : {Channel::kStdout, Channel::kStderr}) {
    const int fd = channel == Channel::kStdout ? ends_.out() : ends_.err();
    if (fd < 0) continue;
    auto output = std::make_unique<Output>();
    output->channel = channel;
    output->fd = fd;
    (channel == Channel::kStdout ? out_ : err_) = std::move(output);
  }
  return {};
}

void ExecSession::started() {
  is_started_ = true;
  say({.begun = protocol::LinkBegun{order_.rank}});
  for (Output* output : {out_.get(), err_.get()}) {
    if (output != nullptr) watch_output(*output);  // not before: its client gets ready then
  }
  write_input();
}

void ExecSession::hear(std::string_view text) {
  const Result<protocol::LinkWord> said = protocol::read_link_word(text, kTextBytesMax);
  if (!said.ok()) return break_off(broken(said.error().message));
  if (said->took) {
    if (!out_window_.take(*said->took)) return break_off(broken("more was taken than was sent"));
    for (Output* output : {out_.get(), err_.get()}) {
      if (output != nullptr) watch_output(*output);
    }
    finish();
  } else if (said->resize) {
    ends_.resize({said->resize->rows, said->resize->columns});
  } else if (said->signal) {
    const int number = *said->signal;
    if (task_ != nullptr && number > 0 && number <= kSignalMax) task_->signal(number);
  } else if (said->end) {
    input_ends_ = true;
    write_input();
  }
}

void ExecSession::hear_piece(std::string_view message) {
  const Result<wire::Piece> piece = wire::read_piece(message);
  if (!piece.ok()) return break_off(piece.error());
  if (piece->channel != Channel::kStdin || !in_window_.add(piece->bytes.size())) {
    return break_off(broken("stdin was sent beyond its window"));
  }
  if (!order_.program.input || input_ends_ || piece->bytes.empty()) return;
  input_.emplace_back(piece->bytes);
  write_input();
}

// A pipe keeps what is written to it only as long as somebody has it open: not before the start.
void ExecSession::write_input() {
  in_watch_.cancel();
  if (!is_started_ || ended_) return;
  while (!input_.empty() && ends_.in() >= 0) {
    const std::string& piece = input_.front();
    const ssize_t count = ::write(ends_.in(), piece.data() + written_, piece.size() - written_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      in_watch_ = host_.loop->watch_writable(ends_.in(), [this] { write_input(); });
      return;
    }
    written_ += static_cast<std::size_t>(count);
    if (written_ < piece.size()) continue;
    in_window_.take(static_cast<std::int64_t>(piece.size()));
    say({.took = static_cast<std::int64_t>(piece.size())});
    written_ = 0;
    input_.pop_front();
  }
  if (input_ends_ && input_.empty()) ends_.end_input();
}

void ExecSession::watch_output(Output& output) {
  if (output.over || output.watching || out_window_.left() == 0) return;
  output.watching = true;
  output.watch = host_.loop->watch_readable(output.fd, [this, &output] {
    if (read_some(output) == Read::kOver) {
      output.over = true;
      pause(output);
      finish();
    } else if (out_window_.left() == 0) {
      pause(output);
    }
  });
}

void ExecSession::pause(Output& output) {
  output.watching = false;
  output.watch.cancel();
}

ExecSession::Read ExecSession::read_some(const Output& output) {
  char bytes[wire::kPiece_bytes];
  const std::size_t room = std::min(sizeof bytes, out_window_.left());
  if (room == 0) return Read::kLater;
  const ssize_t count = ::read(output.fd, bytes, room);
  if (count < 0 && errno == EINTR) return Read::kSome;
  if (count < 0 && errno == EAGAIN) return Read::kLater;
  if (count <= 0) return Read::kOver;
  const auto size = static_cast<std::size_t>(count);
  out_window_.add(size);
  if (socket_ != nullptr) socket_->send_bytes(wire::piece_bytes(output.channel, {bytes, size}));
  return Read::kSome;
}

void ExecSession::task_ended(TaskEnd end) {
  ended_ = std::move(end);
  in_watch_.cancel();
  if (!ends_.terminal_path().empty() && !ended_->exit.cause.starts_with("start_failed")) {
    drain_timer_ = host_.loop->after(kDrain, [this] { finish(); });
  }
  finish();
}

// False: there is more to come. What a command wrote last to a terminal may still be on its way
// when the command is over; what it wrote to a pipe has all come by then.
bool ExecSession::drain(Output& output) {
  while (!output.over) {
    switch (read_some(output)) {
      case Read::kSome:
        break;
      case Read::kOver:
        output.over = true;
        break;
      case Read::kLater:
        if (out_window_.left() == 0) return false;
        if (drain_timer_.pending()) {
          watch_output(output);
          return false;
        }
        output.over = true;
        break;
    }
  }
  pause(output);
  return true;
}

// The rest of the output, as its reader takes it; then how it ended.
void ExecSession::finish() {
  if (told_ || !ended_) return;
  for (Output* output : {out_.get(), err_.get()}) {
    if (output != nullptr && !drain(*output)) return;
  }
  told_ = true;
  std::string& cause = ended_->exit.cause;
  if (cause.empty() || cause == "agent_stopped") cause = why_;
  say({.exit = ended_->exit});
  if (socket_ != nullptr) socket_->close("over");
  socket_.reset();
  hang_up();
}

void ExecSession::end(const std::string& why) {
  if (!why_.empty()) return;
  why_ = why;
  if (task_ != nullptr) task_->stop();
}

// For the agent to tell its end; what is left of it is ended.
void ExecSession::break_off(const Error& error) {
  if (socket_ == nullptr) return;
  say({.error = protocol::LinkError{wire::status_of(error.kind), error.code, error.message}});
  socket_->close(error.code);
  socket_.reset();
  hang_up();
}

// Nobody listens any more.
void ExecSession::hang_up() {
  drain_timer_.cancel();
  in_watch_.cancel();
  out_.reset();
  err_.reset();
  ends_.close();
  if (task_ != nullptr && !ended_) {
    task_->signal(SIGHUP);
    task_->signal(SIGCONT);
    task_->stop();
    return;
  }
  if (over_timer_.pending()) return;
  over_timer_ = host_.loop->after(std::chrono::microseconds(0), [over = over_] { over(); });
}

}  // namespace dove::agent
