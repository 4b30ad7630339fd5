#include "cli/slurm/gang/srun_bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cli/client/step_input.h"
#include "cli/slurm/gang/srun_child.h"
#include "cli/slurm/gang/srun_lines.h"
#include "files/descriptor.h"

namespace dove::cli {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;
constexpr int kDrained_ms = 200;
// A second SIGINT within a second ends a step, as of a single srun.
constexpr std::array kPassedOn{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                               SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};

struct Pipe {
  files::Descriptor from, to;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
    return Pipe{files::Descriptor(ends[0]), files::Descriptor(ends[1])};
  }
  return Error{ErrorKind::kUnavailable, "no_pipe",
               fmt::format("cannot make a pipe: {}", std::strerror(errno)), ""};
}

Result<files::Descriptor> open_stream(const StepStream& stream) {
  const int how = stream.append ? O_APPEND : O_TRUNC;
  files::Descriptor file(::open(stream.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666));
  if (file.is_open()) return file;
  return Error{ErrorKind::kUnavailable, "no_output",
               fmt::format("cannot write {}: {}", stream.path, std::strerror(errno)), ""};
}

// Nobody may read it any more.
void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// As execve does, but before the signals are let in: one that was sent since the fork would be
// taken by a handler of this program, and never end the srun. What is ignored stays so.
void drop_handlers() {
  for (const int signal : kPassedOn) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      ::signal(signal, SIG_DFL);
    }
  }
}

// One srun, and what it writes.
struct Child {
  Child(const SrunCall& wanted, int label_width)
      : call(wanted),
        output(wanted.first_rank, label_width),
        error(wanted.first_rank, label_width) {}
  const SrunCall& call;
  pid_t pid = 0;
  bool has_ended = true;  // until it is there
  int code = 0;
  int output_to = STDOUT_FILENO;
  int error_to = STDERR_FILENO;
  Pipe output_pipe, error_pipe, input_pipe;  // until it begins
  files::Descriptor output_from, error_from, input_to;
  SrunLines output, error;
};

class Bundle {
 public:
  Bundle(const std::string& srun, const GangStep& step, StepTurn turn)
      : srun_(srun), step_(step), turn_(std::move(turn)) {}

  Result<int> run() {
    raise_limit();
    TRY(take_signals());
    const int width = step_.label ? static_cast<int>(std::to_string(step_.tasks - 1).size()) : 0;
    const auto readers = std::count_if(step_.calls.begin(), step_.calls.end(),
                                       [](const SrunCall& call) { return call.takes_input; });
    const bool shares_input = readers > 1 && has_input();
    // No task runs before all that the step needs here is there.
    for (const SrunCall& call : step_.calls) {
      Child& child = children_.emplace_back(call, width);
      TRY(open_streams(child));
      TRY(make_pipes(child, shares_input));
    }
    Result<void> begun;
    for (Child& child : children_) {
      begun = begin(child);
      if (begun.ok()) continue;
      end_others();
      break;
    }
    if (shares_input && begun.ok()) share_input();
    while (is_running()) {
      if (has_everything()) turn_.end();
      look(time_left_ms());
      if (waits_until_ && Clock::now() >= *waits_until_) end_others();
    }
    take_terminal_back();
    drain();
    TRY(begun);
    if (not_begun_code_ != 0) return not_begun_code_;
    int code = 0;
    for (const Child& child : children_) code = std::max(code, child.code);
    return code;
  }

 private:
  // Each node takes up to five descriptors, and three more until its srun has begun.
  void raise_limit() {
    if (::getrlimit(RLIMIT_NOFILE, &former_limit_) != 0) return;
    const rlimit raised{former_limit_.rlim_max, former_limit_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }

  // Each file once, however many nodes or streams go there.
  Result<void> open_streams(Child& child) {
    for (const auto& [stream, to] : {std::pair(&child.call.output, &child.output_to),
                                     std::pair(&child.call.error, &child.error_to)}) {
      if (stream->path.empty()) continue;
      auto found = files_.find(stream->path);
      if (found == files_.end()) {
        TRY_ASSIGN(files::Descriptor file, open_stream(*stream));
        found = files_.emplace(stream->path, std::move(file)).first;
      }
      *to = found->second.get();
    }
    return {};
  }

  Result<void> take_signals() {
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&taken, signal);
    ::sigprocmask(SIG_BLOCK, &taken, &former_);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = files::Descriptor(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    if (signals_.is_open()) return {};
    return Error{ErrorKind::kUnavailable, "no_signals",
                 fmt::format("cannot wait for signals: {}", std::strerror(errno)), ""};
  }

  Result<void> make_pipes(Child& child, bool shares_input) {
    TRY_ASSIGN(child.error_pipe, make_pipe());
    if (step_.label) {
      TRY_ASSIGN(child.output_pipe, make_pipe());
    }
    if (shares_input && child.call.takes_input) {
      TRY_ASSIGN(child.input_pipe, make_pipe());
    }
    return {};
  }

  Result<void> begin(Child& child) {
    const pid_t self = ::getpid();
    child.pid = ::fork();
    if (child.pid == 0) {
      // What is sent to the group of this process comes once, from this process.
      ::setpgid(0, 0);
      ::signal(SIGPIPE, SIG_DFL);
      if (child.call.has_terminal && has_terminal_) give_terminal(::getpid());
      drop_handlers();
      ::sigprocmask(SIG_SETMASK, &former_, nullptr);
      ::setrlimit(RLIMIT_NOFILE, &former_limit_);
      if (child.input_pipe.from.is_open()) ::dup2(child.input_pipe.from.get(), STDIN_FILENO);
      ::dup2(step_.label ? child.output_pipe.to.get() : child.output_to, STDOUT_FILENO);
      ::dup2(child.error_pipe.to.get(), STDERR_FILENO);
      become_child(srun_, child.call.words, step_.environment, self);
    }
    if (child.pid < 0) {
      return Error{ErrorKind::kUnavailable, "no_process",
                   fmt::format("cannot start {}: {}", srun_, std::strerror(errno)), ""};
    }
    child.has_ended = false;
    child.output_from = std::move(child.output_pipe.from);
    child.error_from = std::move(child.error_pipe.from);
    child.input_to = std::move(child.input_pipe.to);
    for (Pipe* pipe : {&child.output_pipe, &child.error_pipe, &child.input_pipe}) *pipe = Pipe();
    return {};
  }

  // Until its end: as Slurm's srun, which may read it without anybody's wish. The process ends
  // under it.
  void share_input() {
    std::vector<int> readers;
    for (Child& child : children_) {
      if (child.input_to.is_open()) readers.push_back(child.input_to.release());
    }
    std::thread([readers] {
      std::string piece(kPieceBytes, '\0');
      while (true) {
        const ssize_t bytes = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) break;
        for (const int reader : readers) {
          write_all(reader, std::string_view(piece).substr(0, static_cast<std::size_t>(bytes)));
        }
      }
      for (const int reader : readers) ::close(reader);
    }).detach();
  }

  bool is_running() const {
    return std::any_of(children_.begin(), children_.end(),
                       [](const Child& child) { return !child.has_ended; });
  }

  // Whether there was something to read within that time.
  bool look(int limit_ms = -1) {
    std::vector<pollfd> all{{signals_.get(), POLLIN, 0}};
    for (const Child& child : children_) {
      for (const files::Descriptor* from : {&child.output_from, &child.error_from}) {
        if (from->is_open()) all.push_back({from->get(), POLLIN, 0});
      }
    }
    if (::poll(all.data(), all.size(), limit_ms) <= 0) return false;
    const auto is_ready = [&](const files::Descriptor& from) {
      return std::any_of(all.begin(), all.end(), [&](const pollfd& one) {
        return one.fd == from.get() && one.revents != 0;
      });
    };
    for (Child& child : children_) {
      if (child.output_from.is_open() && is_ready(child.output_from)) {
        pass_on(child.output_from, child.output, child.output_to);
      }
      if (child.error_from.is_open() && is_ready(child.error_from)) {
        pass_on(child.error_from, child.error, child.error_to);
      }
      // Slurm's srun ends the others of its own node itself.
      if (step_.wait_s > 0 && child.error.has_waited()) end_others();
    }
    if (is_ready(signals_)) read_signals();
    return true;
  }

  bool has_everything() const {
    return std::all_of(children_.begin(), children_.end(), [](const Child& child) {
      return child.has_ended || child.error.has_begun() || child.output.has_begun();
    });
  }

  int time_left_ms() const {
    if (!waits_until_ || is_ending_) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*waits_until_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }

  // Its srun sets it up and reads it, which only the terminal's own group may. A step in the
  // background leaves the terminal to whoever has it.
  static void give_terminal(pid_t group) {
    const auto former = ::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(STDIN_FILENO, group);
    ::signal(SIGTTOU, former);
  }

  void take_terminal_back() const {
    if (!has_terminal_) return;
    const bool was_given = std::any_of(children_.begin(), children_.end(), [](const Child& child) {
      return child.call.has_terminal && child.pid > 0;
    });
    if (was_given) give_terminal(::getpgrp());
  }

  static void pass_on(files::Descriptor& from, SrunLines& lines, int to) {
    std::array<char, kPieceBytes> piece{};
    const ssize_t bytes = ::read(from.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) return;
    const SrunLines::Text text =
        bytes <= 0 ? lines.finish() : lines.take({piece.data(), static_cast<std::size_t>(bytes)});
    if (bytes <= 0) from = files::Descriptor();
    write_all(STDERR_FILENO, text.sruns);
    write_all(to, text.tasks);
  }

  void read_signals() {
    signalfd_siginfo one{};
    while (::read(signals_.get(), &one, sizeof one) == sizeof one) {
      const int signal = static_cast<int>(one.ssi_signo);
      if (signal == SIGCHLD) {
        reap();
      } else {
        if (signal == SIGCONT) pass_terminal_on();
        send_all(signal);
      }
    }
  }

  // A step that began in the background was brought to the front.
  void pass_terminal_on() {
    if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
    for (const Child& child : children_) {
      if (!child.call.has_terminal || child.has_ended || child.pid <= 0) continue;
      give_terminal(child.pid);
      has_terminal_ = true;
    }
  }

  void send_all(int signal) {
    for (const Child& child : children_) {
      // Never 0, which would be the group of this process: the user's script, too.
      if (child.has_ended || child.pid <= 0) continue;
      ::kill(child.pid, signal);
      // One that is stopped hears nothing else.
      if (signal == SIGTERM) ::kill(child.pid, SIGCONT);
    }
  }

  void reap() {
    bool wants_terminal = false;
    for (Child& child : children_) {
      int status = 0;
      if (child.has_ended) continue;
      if (::waitpid(child.pid, &status, WNOHANG | WUNTRACED) != child.pid) continue;
      if (WIFSTOPPED(status)) {
        wants_terminal |=
            child.call.has_terminal && (WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU);
        continue;
      }
      child.has_ended = true;
      child.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (step_.wait_s > 0 && !waits_until_) {
        waits_until_ = Clock::now() + std::chrono::seconds(step_.wait_s);
      }
      if (child.code == 0) continue;
      // What it wrote last says whether its tasks have run.
      while (child.error_from.is_open() && has_more(child.error_from)) {
        pass_on(child.error_from, child.error, child.error_to);
      }
      const bool has_begun = has_begun_tasks(child);
      if (!has_begun && not_begun_code_ == 0 && !is_ending_) not_begun_code_ = child.code;
      if (step_.kill_on_bad_exit || !has_begun) end_others();
    }
    if (wants_terminal && !is_ending_) ask_for_terminal();
  }

  // A shell brings to the front what it sees stopped, with SIGCONT: so the group of this process
  // stops as it would if the srun were in it. Without a shell that could do so, SIGTTIN does
  // nothing.
  void ask_for_terminal() {
    if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) {
      ::kill(0, SIGTTIN);
      return;
    }
    pass_terminal_on();
    send_all(SIGCONT);
  }

  static bool has_begun_tasks(const Child& child) {
    if (child.error.has_refused()) return false;
    // What its first task says goes to the terminal.
    return child.call.has_terminal || child.error.has_begun() || child.output.has_begun();
  }

  static bool has_more(const files::Descriptor& from) {
    pollfd one{from.get(), POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }

  // Slurm's srun then ends its tasks.
  void end_others() {
    if (std::exchange(is_ending_, true)) return;
    send_all(SIGTERM);
  }

  // What is left in the pipes. A process that the step left behind may hold them open.
  void drain() {
    const auto is_open = [](const Child& child) {
      return child.output_from.is_open() || child.error_from.is_open();
    };
    while (std::any_of(children_.begin(), children_.end(), is_open) && look(kDrained_ms)) {
    }
  }

  using Clock = std::chrono::steady_clock;

  const std::string& srun_;
  const GangStep& step_;
  StepTurn turn_;
  sigset_t former_{};
  rlimit former_limit_{};
  bool has_terminal_ = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  files::Descriptor signals_;
  std::map<std::string, files::Descriptor> files_;  // by path
  std::list<Child> children_;
  std::optional<Clock::time_point> waits_until_;
  bool is_ending_ = false;
  int not_begun_code_ = 0;
};

}  // namespace

Result<int> run_srun_bundle(const std::string& srun, const GangStep& step, StepTurn turn) {
  return Bundle(srun, step, std::move(turn)).run();
}

}  // namespace dove::cli
