// dove up: a whole cluster on this machine; Ctrl-C ends it and everything it runs.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "files/text_file.h"
#include "programs/commands.h"
#include "programs/log_level.h"
#include "programs/proxy/proxy_settings.h"
#include "programs/retention.h"
#include "programs/scheduling.h"
#include "programs/server/notice_settings.h"
#include "programs/server/server_runtime.h"
#include "programs/server/sign_in_settings.h"
#include "programs/settings.h"
#include "server/server.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "up";
  spec.summary = "Run a whole cluster on this machine";
  spec.group = "Programs";
  spec.description =
      "A server and one agent process per node, with emulated cores, memory and GPUs. Tasks run\n"
      "as you. Ctrl-C (or SIGTERM) ends the cluster and its tasks; what was waiting or running is\n"
      "queued again when it comes up next on the same --data.";
  spec.options = {
      {"nodes", 'N', "COUNT", "number of nodes (1)", false},
      {"gpus", 'G', "COUNT", "emulated GPUs per node (0)", false},
      {"gpu-model", 0, "MODEL", "model of the emulated GPUs (H200)", false},
      {"cores", 0, "COUNT", "emulated cores per node (8)", false},
      {"memory", 0, "AMOUNT", "emulated memory per node (16Gi)", false},
      {"inventory", 0, "FILE", "emulate the devices in this YAML file, on every node", false},
      {"data", 0, "DIR", "directory of all data (~/.local/state/dove)", false},
      {"host", 0, "ADDRESS", "address to listen on (127.0.0.1)", false},
      {"port", 0, "PORT", "port to listen on, 0 for a free one (7717)", false},
      {"ssh-port", 0, "PORT", "port of the SSH gateway on loopback (a free one)", false},
      {"session-ports", 0, "FIRST-LAST",
       "sessions for browsers at these ports of 127.0.0.1, or off (20000-20099; off with --port 0)",
       false},
      {"fence-s", 0, "SECONDS", "a task ends this long after its agent is gone (5)", false},
      {"config", 0, "FILE", "YAML file of these settings (/etc/dove/up.yaml)", false},
  };
  for (const auto& more :
       {scheduling_specs(), log_retention_specs(), output_retention_specs(), log_level_specs(),
        tls_option_specs(), sign_in_specs(), notice_specs()}) {
    spec.options.insert(spec.options.end() - 1, more.begin(), more.end());
  }
  return spec;
}

// People want to read four lines; what goes wrong comes after them.
std::string usual_log_level() {
  return isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1 ? "warning" : "info";
}

// Among the names of nodes, which have no spaces.
constexpr char kSshGateway[] = "SSH gateway";
constexpr char kProxy[] = "session proxy";

bool is_helper(const std::string& name) { return name == kSshGateway || name == kProxy; }

// The agents of a `dove up`, as children that do not outlive it.
class Nodes {
 public:
  Nodes(wire::Loop& loop, const Settings& given, std::string data, std::string url)
      : loop_(loop), given_(given), data_(std::move(data)), url_(std::move(url)) {
    // Tasks of the last run are over, so this one is a new life of its nodes.
    const Result<std::string> last = read_small_file(data_ + "/life");
    life_ = last.ok() ? std::strtoll(last->c_str(), nullptr, 10) : 0;
  }

  // Only after all agents have ended with their tasks: a new life is proof that none of them runs.
  void end_life() {
    (void)files::write_atomically(data_ + "/life", std::to_string(life_ + 1), 0600);
  }

  Result<void> start(const std::string& name, const std::string& join_token) {
    const std::string folder = data_ + "/nodes/" + name;
    std::error_code error;
    fs::create_directories(folder, error);
    std::vector<std::string> args = {"dove",          "agent",
                                     "--name",        name,
                                     "--url",         url_,
                                     "--data",        folder,
                                     "--shared",      data_ + "/shared",
                                     "--run-as-self", "--stop-tasks-at-exit",
                                     "--log-level",   given_.text("log-level", usual_log_level()),
                                     "--boot-id",     fmt::format("{}-{}", boot_id(), life_)};
    for (std::string& flag : output_retention_flags(given_)) args.push_back(std::move(flag));
    if (!join_token.empty()) {
      TRY(files::write_atomically(folder + "/join_token", join_token, 0600));
      args.insert(args.end(), {"--join-token-file", folder + "/join_token"});
    }
    if (given_.has("inventory")) {
      args.insert(args.end(), {"--inventory", fs::absolute(given_.text("inventory", ""))});
    } else {
      args.insert(args.end(), {"--gpus", given_.text("gpus", "0"), "--cores",
                               given_.text("cores", "8"), "--memory", given_.text("memory", "16Gi"),
                               "--gpu-model", given_.text("gpu-model", "H200")});
    }
    return spawn(name, args);
  }

  // People get into jobs by it; nothing else needs it.
  Result<void> start_ssh_gateway() {
    std::vector<std::string> args = {"dove",        "ssh-gateway",
                                     "--url",       url_,
                                     "--key-file",  data_ + "/ssh_gateway_token",
                                     "--data",      data_ + "/ssh",
                                     "--port",      given_.text("ssh-port", "0"),
                                     "--log-level", given_.text("log-level", usual_log_level())};
    if (fs::exists(data_ + "/ca.pem")) args.insert(args.end(), {"--ca-file", data_ + "/ca.pem"});
    return spawn(kSshGateway, args);
  }

  // `dove proxy`, which dies with us as the agents do.
  Result<void> start_proxy(const ServerSettings& server) {
    if (server.sessions_url.empty()) return {};
    const std::string ports = server.sessions_url.substr(server.sessions_url.rfind(':') + 1);
    std::vector<std::string> args = {
        "dove",    "proxy", "--url",       url_,
        "--ports", ports,   "--log-level", given_.text("log-level", usual_log_level())};
    if (!server.sign_in.public_url.empty()) {
      args.insert(args.end(), {"--public-url", server.sign_in.public_url});
    }
    if (server.tls.on) args.insert(args.end(), {"--ca-file", data_ + "/ca.pem"});
    return spawn(kProxy, args);
  }

  bool has_token(const std::string& name) const {
    return fs::exists(data_ + "/nodes/" + name + "/agent_token");
  }

  void stop(std::function<void()> when_over) {
    when_over_ = std::move(when_over);
    for (const auto& [pid, child] : children_) kill(pid, SIGTERM);
    limit_ = loop_.after(std::chrono::seconds(12), [this] {
      for (const auto& [pid, child] : children_) kill(pid, SIGKILL);
    });
    if (children_.empty()) when_over_();
  }

 private:
  struct Child {
    std::string name;
    int pidfd = -1;
    wire::FdWatch exit;
  };

  static std::string boot_id() {
    Result<std::string> id = read_small_file("/proc/sys/kernel/random/boot_id");
    return id.ok() ? *id : "unknown";
  }

  Result<void> spawn(const std::string& name, std::vector<std::string> args) {
    TRY_ASSIGN(const bool insecure, given_.flag("insecure"));
    if (insecure) args.push_back("--insecure");  // as we were told
    std::vector<char*> argv;
    for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    const bool is_quiet = is_helper(name);
    const pid_t pid = fork();
    if (pid < 0) {
      return Error{ErrorKind::kExhausted, "fork", "no more processes can be started", ""};
    }
    if (pid == 0) {
      setpgid(0, 0);  // Ctrl-C goes to dove up alone, which ends its agents in order
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(1);
      // The first lines are ours.
      if (is_quiet) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
      execv("/proc/self/exe", argv.data());
      _exit(127);
    }
    Child& child = children_[pid];
    child.name = name;
    child.pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    child.exit = loop_.watch_readable(child.pidfd, [this, pid] { exited(pid); });
    return {};
  }

  void exited(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    const auto found = children_.find(pid);
    const std::string name = found->second.name;
    const int pidfd = found->second.pidfd;
    found->second.exit.cancel();
    children_.erase(found);
    close(pidfd);
    if (!when_over_ && is_helper(name)) {
      fmt::print(stderr, "dove up: the {} ended; the rest goes on\n", name);
    } else if (!when_over_) {
      fmt::print(stderr,
                 "dove up: {}'s agent ended ({} {}); its node is lost until the next start\n", name,
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    const bool tasks_over = is_helper(name) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tasks_left_ = tasks_left_ || !tasks_over;
    if (when_over_ && children_.empty()) over();
  }

  void over() {
    if (!tasks_left_) end_life();
    when_over_();
  }

  wire::Loop& loop_;
  const Settings& given_;
  std::string data_;
  std::string url_;
  std::int64_t life_ = 0;
  std::map<pid_t, Child> children_;
  bool tasks_left_ = false;  // an agent ended without its tasks
  std::function<void()> when_over_;
  wire::Timer limit_;
};

// Two clusters on this machine cannot have the same ports: the second does without.
Result<std::string> session_ports(const Settings& given, std::uint16_t port) {
  const std::string ports = given.text("session-ports", port == 0 ? "off" : kUsualPorts);
  if (ports == "off") return std::string();
  TRY_ASSIGN(std::string url, sessions_url_of({"", ports, "127.0.0.1", 0, false}));
  if (are_free(*text::SessionOrigins::parse(url))) return url;
  if (given.has("session-ports")) {
    return Error{ErrorKind::kConflict, "address_in_use",
                 fmt::format("--session-ports {}: one of them is taken", ports), "--session-ports"};
  }
  return std::string();
}

Result<ServerSettings> server_settings(const Settings& given) {
  ServerSettings settings;
  settings.data_dir = fs::absolute(given.text("data", default_data_dir()));
  settings.host = given.text("host", "127.0.0.1");
  TRY_ASSIGN(settings.log_kept, log_retention(given));
  TRY(output_retention(given));
  TRY(set_log_level(given, usual_log_level()));
  TRY_ASSIGN(const std::int64_t port, given.integer("port", 7717, 0, 65'535));
  settings.port = static_cast<std::uint16_t>(port);
  TRY_ASSIGN(settings.sessions_url, session_ports(given, settings.port));
  TRY_ASSIGN(settings.tls, tls_settings(given, settings.host, settings.port));
  TRY_ASSIGN(settings.sign_in, sign_in_settings(given));
  TRY_ASSIGN(settings.notices, notice_settings(given));
  TRY_ASSIGN(settings.scheduling, scheduling_option(given));
  if (given.has("fence-s")) {
    TRY_ASSIGN(const std::int64_t fence_s, given.integer("fence-s", 5, 1, 3600));
    settings.fence = seconds(fence_s);
  }
  return settings;
}

int fail(const Error& error) {
  fmt::print(stderr, "dove up: {}\n", error.message);
  return cli::exit_code(error);
}

void start_nodes(ServerRuntime& server, Nodes& nodes, std::int64_t count) {
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::string name = fmt::format("node{}", i);
    const auto start = [&nodes, name](const std::string& token) {
      if (Result<void> started = nodes.start(name, token); !started.ok()) fail(started.error());
    };
    if (nodes.has_token(name)) {
      start("");
      continue;
    }
    server.api().issue_join_token(name, seconds(600), [start](Result<std::string> token) {
      if (token.ok()) {
        start(*token);
      } else {
        fail(token.error());
      }
    });
  }
}

std::string what_nodes_have(const Settings& given) {
  if (given.has("inventory")) return "what " + given.text("inventory", "") + " says";
  const std::string gpus = given.text("gpus", "0");
  return fmt::format(
      "{} cores and {} of memory{}", given.text("cores", "8"), given.text("memory", "16Gi"),
      gpus == "0" ? "" : fmt::format(", {} {}", gpus, given.text("gpu-model", "H200")));
}

// Says what there is and what to do with it, as soon as all nodes are there; four lines.
class Greeting {
 public:
  Greeting(wire::Loop& loop, ServerRuntime& server, std::int64_t nodes, const Settings& given,
           std::string data)
      : loop_(loop), server_(server), nodes_(nodes), given_(given), data_(std::move(data)) {}

  void say_when_ready() {
    const std::int64_t ready = server_.api().nodes_connected();
    if (ready < nodes_ && ++looks_ < kLooksMax) {
      timer_ = loop_.after(kBetweenLooks, [this] { say_when_ready(); });
      return;
    }
    const bool is_usual = data_ == default_data_dir();
    fmt::print("dove up: {}{} ready at {}\n", ready < nodes_ ? fmt::format("{} of ", ready) : "",
               nodes_ == 1 ? "1 node" : fmt::format("{} nodes", nodes_), server_.url());
    fmt::print("  each with {}, emulated; data is in {}\n", what_nodes_have(given_), data_);
    fmt::print("  in another terminal{}: dove submit --wrap 'hostname', dove ps, dove console\n",
               is_usual ? "" : fmt::format(", with DOVE_DATA={}", data_));
    fmt::print("  Ctrl-C ends the cluster and its tasks\n");
    std::fflush(stdout);
  }
  void cancel() { timer_.cancel(); }

 private:
  static constexpr std::chrono::milliseconds kBetweenLooks{50};
  static constexpr int kLooksMax = 400;  // 20 s

  wire::Loop& loop_;
  ServerRuntime& server_;
  const std::int64_t nodes_;
  const Settings& given_;
  const std::string data_;
  int looks_ = 0;
  wire::Timer timer_;
};

int run(const cli::Invocation& invocation) {
  Result<Settings> given = Settings::load(spec(), invocation);
  if (!given.ok()) return fail(given.error());
  Result<std::int64_t> count = given->integer("nodes", 1, 1, 1000);
  if (!count.ok()) return fail(count.error());
  Result<ServerSettings> settings = server_settings(*given);
  if (!settings.ok()) return fail(settings.error());
  const std::string data = settings->data_dir;
  wire::Loop loop;
  Result<std::unique_ptr<ServerRuntime>> server = ServerRuntime::start(loop, *settings);
  if (!server.ok()) return fail(server.error());
  Nodes nodes(loop, *given, data, (*server)->url());
  start_nodes(**server, nodes, *count);
  if (const auto started = nodes.start_ssh_gateway(); !started.ok()) fail(started.error());
  if (const auto started = nodes.start_proxy(*settings); !started.ok()) fail(started.error());
  Greeting greeting(loop, **server, *count, *given, data);
  bool ending = false;
  loop.on_signal({SIGTERM, SIGINT}, [&](int) {
    if (ending) return loop.stop();
    ending = true;
    greeting.cancel();
    nodes.stop([&] { (*server)->shut_down(); });
  });
  greeting.say_when_ready();
  loop.run();
  return (*server)->finish();
}

}  // namespace

cli::Command up_command() { return {spec(), run}; }

}  // namespace dove::programs
