// dove port-forward: ports of this machine that lead into a running task.
#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <set>

#include "cli/client/api.h"
#include "cli/client/forward_client.h"
#include "cli/client/job_watch.h"
#include "cli/families.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

constexpr char kUnix[] = "unix:";

struct Wanted {
  std::uint16_t local = 0;  // 0: any that is free
  ForwardTarget target;
};

Result<std::uint16_t> read_port(std::string_view text, std::string_view word, bool may_be_zero) {
  std::uint32_t port = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_number = error == std::errc() && at == text.data() + text.size() && !text.empty();
  if (is_number && port <= 65535 && (port > 0 || may_be_zero)) {
    return static_cast<std::uint16_t>(port);
  }
  return usage_error(
      fmt::format("'{}': a port is a number from 1 to 65535; give REMOTE or "
                  "LOCAL:REMOTE, or unix:PATH in place of REMOTE",
                  word));
}

// "8080", "9000:8080", "0:8080", "unix:app", "9000:unix:app".
Result<Wanted> read_word(const std::string& word, const std::string& job, const std::string& task) {
  Wanted wanted;
  wanted.target.job = job;
  wanted.target.task = task;
  std::string remote = word;
  const std::size_t colon = word.find(':');
  const bool has_local = colon != std::string::npos && !word.starts_with(kUnix);
  if (has_local) {
    TRY_ASSIGN(wanted.local, read_port(word.substr(0, colon), word, /*may_be_zero=*/true));
    remote = word.substr(colon + 1);
  }
  if (remote.starts_with(kUnix)) {
    wanted.target.socket = remote.substr(sizeof kUnix - 1);
    if (!wanted.target.socket.empty()) return wanted;
    return usage_error(fmt::format("'{}' names no socket: unix:PATH", word));
  }
  TRY_ASSIGN(wanted.target.port, read_port(remote, word, /*may_be_zero=*/false));
  if (!has_local) wanted.local = wanted.target.port;
  return wanted;
}

class PortForward {
 public:
  PortForward(const TaskLink& link, std::string job, std::string address)
      : address_(std::move(address)),
        client_(loop_, link, [this](const Error& error) { complain(error); }),
        watch_(loop_, link, std::move(job), [this](const std::string& how) {
          end(Error{ErrorKind::kConflict, "not_running", how, ""});
        }) {}

  Result<int> run(std::vector<Wanted> wanted) {
    signal(SIGPIPE, SIG_IGN);
    loop_.on_signal({SIGINT, SIGTERM, SIGHUP}, [this](int number) {
      code_ = 128 + number;
      loop_.stop();
    });
    wanted_ = std::move(wanted);
    look_next(0);
    loop_.run();
    if (failed_) return failure_;
    return code_;
  }

 private:
  // Asks about each before any is opened; a program may yet begin to listen.
  void look_next(std::size_t index) {
    if (index == wanted_.size()) return listen();
    client_.look(wanted_[index].target, [this, index](const Result<void>& looked) {
      if (!looked.ok()) {
        const bool may_come =
            looked.error().code == "nothing_listens" || looked.error().code == "no_such_socket";
        if (!may_come) return end(looked.error());
        say(fmt::format("warning: {}", looked.error().message));
      }
      look_next(index + 1);
    });
  }

  void listen() {
    for (const Wanted& each : wanted_) {
      const Result<std::uint16_t> port = client_.listen(address_, each.local, each.target);
      if (!port.ok()) return end(port.error());
      const std::string task = each.target.task.empty() ? "" : ", task " + each.target.task;
      print(fmt::format("Forwarding {} to {} of job {}{}\n", wire::Address{address_, *port}.text(),
                        each.target.text(), each.target.job, task));
    }
    std::fflush(stdout);
    watch_.begin();
  }

  // Each trouble once, however many connections have it.
  void complain(const Error& error) {
    if (told_.insert(error.message).second) say("port-forward: " + error.message);
  }

  void end(const Error& error) {
    failed_ = true;
    failure_ = error;
    loop_.stop();
  }

  wire::Loop loop_;
  const std::string address_;
  ForwardClient client_;
  JobWatch watch_;
  std::vector<Wanted> wanted_;
  std::set<std::string> told_;
  int code_ = kExitOk;
  bool failed_ = false;
  Error failure_;
};

Result<int> run(const Invocation& invocation) {
  const std::string& job = invocation.operands[0];
  const std::string task = invocation.get("rank", invocation.get("task"));
  std::vector<Wanted> wanted;
  for (std::size_t i = 1; i < invocation.operands.size(); ++i) {
    TRY_ASSIGN(Wanted one, read_word(invocation.operands[i], job, task));
    wanted.push_back(std::move(one));
  }
  TRY_ASSIGN(const Endpoint endpoint, find_endpoint(invocation));
  TRY_ASSIGN(const TaskLink link, TaskLink::find(endpoint));
  return PortForward(link, job, invocation.get("address", "127.0.0.1")).run(std::move(wanted));
}

}  // namespace

std::vector<Command> forward_commands() {
  CommandSpec forward;
  forward.name = "port-forward";
  forward.summary = "Forward ports of this machine into a running task";
  forward.group = "Jobs";
  forward.operands = "JOB [LOCAL:]REMOTE...";
  forward.completes = "job";
  forward.operands_min = 2;
  forward.operands_max = -1;
  forward.description =
      "REMOTE is a TCP port on which the task itself listens, or unix:PATH, a Unix socket in the\n"
      "directory that the task knows as DOVE_SOCKETS. LOCAL is the same port unless given; 0\n"
      "means any that is free. Runs until it is interrupted or the job no longer runs.";
  forward.options = {{"rank", 0, "RANK", "of this task (0)"},
                     {"task", 0, "TASK", "of this task: a rank, or GROUP/NUMBER"},
                     {"address", 0, "ADDRESS",
                      "listen here (127.0.0.1); on another address, whoever reaches it gets in"}};
  return {{forward, guarded("port-forward", run)}};
}

}  // namespace dove::cli
