#include "cli/ssh/ssh_client.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/client/program.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "files/text_file.h"

extern char** environ;

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kKeyBytesMax = 4096;
constexpr int kMakeLimit_s = 10;
constexpr char kHostName[] = "dove-ssh-gateway";  // in the known_hosts of one connection

class Folder {
 public:
  Folder() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    std::string path = fmt::format("{}/dove-ssh.XXXXXX", runtime != nullptr ? runtime : "/tmp");
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~Folder() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;  // "": it could not be made
};

volatile sig_atomic_t running = 0;

void pass_on(int number) {
  if (running > 0) ::kill(running, number);
}

// ssh has our terminal, and what comes from there is its own to hear; what ends us ends it.
Result<int> run_here(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  sigset_t usual;
  ::sigemptyset(&usual);
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) ::sigaddset(&usual, number);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int problem = ::posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (problem != 0) {
    return Error{ErrorKind::kUnavailable, "cannot_start",
                 fmt::format("{}: {}; install it (Debian: openssh-client)", words[0],
                             std::strerror(problem)),
                 ""};
  }
  running = pid;
  for (const int number : {SIGINT, SIGQUIT}) ::signal(number, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP}) ::signal(number, pass_on);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<std::string> make_key(const std::string& path) {
  ProgramWanted wanted;
  wanted.command = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dove", "-f", path};
  wanted.keep_output = true;
  wanted.limit_s = kMakeLimit_s;
  TRY_ASSIGN(const ProgramEnd made, run_program(wanted));
  if (made.code != 0) {
    return Error{ErrorKind::kUnavailable, "cannot_start",
                 fmt::format("ssh-keygen made no key: {}", made.output), ""};
  }
  return files::read_text(path + ".pub", kKeyBytesMax);
}

}  // namespace

std::string known_hosts_lines(const json& gateway, const std::string& name) {
  const std::string host =
      name.empty() ? fmt::format("[{}]:{}", text_of(gateway, "address"), number_of(gateway, "port"))
                   : name;
  std::string out;
  for (const json& key : list_of(gateway, "host_keys")) {
    if (key.is_string()) out += fmt::format("{} {}\n", host, key.get<std::string>());
  }
  return out;
}

Result<int> run_ssh(Api& api, const SshWanted& wanted) {
  const Folder folder;
  if (folder.path().empty()) {
    return Error{ErrorKind::kUnavailable, "no_directory",
                 "no directory could be made for the key, in XDG_RUNTIME_DIR or /tmp", ""};
  }
  const std::string key = folder.path() + "/key";
  const std::string known = folder.path() + "/known_hosts";
  TRY_ASSIGN(const std::string line, make_key(key));
  TRY_ASSIGN(const json session,
             api.send("POST", "/v1/me/ssh-sessions", json{{"key", line}, {"job", wanted.job}}));
  const json gateway = session.value("gateway", json::object());
  TRY(files::write_atomically(known, known_hosts_lines(gateway, kHostName), 0600));
  std::vector<std::string> words = {
      "ssh", "-F", "none", "-i", key, "-p", std::to_string(number_of(gateway, "port"))};
  for (const char* name :
       {"IdentitiesOnly=yes", "IdentityAgent=none", "ForwardAgent=no",
        "PreferredAuthentications=publickey", "StrictHostKeyChecking=yes",
        "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no", "SendEnv=LANG LC_*"}) {
    words.insert(words.end(), {"-o", name});
  }
  words.insert(words.end(), {"-o", fmt::format("HostKeyAlias={}", kHostName), "-o",
                             "UserKnownHostsFile=" + known});
  words.insert(words.end(), wanted.options.begin(), wanted.options.end());
  const std::string task = wanted.task.empty() ? "" : "." + wanted.task;
  words.insert(words.end(), {"-l", wanted.job + task, "--", text_of(gateway, "address")});
  words.insert(words.end(), wanted.command.begin(), wanted.command.end());
  return run_here(std::move(words));
}

}  // namespace dove::cli
