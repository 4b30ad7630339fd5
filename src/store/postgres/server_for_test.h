// A PostgreSQL of the tests' own: a directory of its own, a socket in it, ended by its pid.
//
// Include only from *_test.cc files.
#pragma once

#include <glob.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/postgres/connection.h"

namespace dove::store {

// "": there is none on this machine.
inline std::string postgres_programs() {
  glob_t found{};
  std::string path;
  if (glob("/usr/lib/postgresql/*/bin/initdb", 0, nullptr, &found) == 0) {
    path = std::filesystem::path(found.gl_pathv[found.gl_pathc - 1]).parent_path().string();
  }
  globfree(&found);
  return path;
}

class PostgresServer {
 public:
  static PostgresServer& instance() {
    static PostgresServer server;
    return server;
  }

  bool start() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dove-pg-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    programs_ = postgres_programs();
    if (const passwd* user = geteuid() == 0 ? getpwnam("nobody") : nullptr) {
      uid_ = user->pw_uid;
      if (chown(folder_.c_str(), uid_, user->pw_gid) != 0) return false;
    }
    const int made = wait_for(run({"initdb", "--no-sync", "-A", "trust", "-U", "dove", "--locale=C",
                                   "-E", "UTF8", "-D", folder_ + "/data"}));
    return made == 0 && begin();
  }
  // As it was, after stop().
  bool begin() {
    pid_ = run({"postgres", "-D", folder_ + "/data", "-k", folder_, "-c", "listen_addresses=", "-c",
                "fsync=off", "-c", "max_connections=40"});
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < until) {
      if (Connection::open({url("postgres"), "test", std::chrono::seconds(5)}).ok()) return true;
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) break;
      usleep(20'000);
    }
    return false;
  }
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGQUIT);
    wait_for(pid_);
    pid_ = -1;
  }
  ~PostgresServer() {
    stop();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  const std::string& folder() const { return folder_; }
  std::string url(const std::string& database, const std::string& folder = "") const {
    return "postgres://dove@/" + database + "?host=" + (folder.empty() ? folder_ : folder);
  }
  std::string new_database() {
    const std::string name = "t" + std::to_string(++databases_);
    auto line = Connection::open({url("postgres"), "test", std::chrono::seconds(30)});
    EXPECT_TRUE(line.ok() && line->execute(("CREATE DATABASE " + name).c_str()).ok());
    return url(name);
  }

 private:
  PostgresServer() = default;
  static int wait_for(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  pid_t run(std::vector<std::string> words) {
    words[0] = programs_ + "/" + words[0];
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    if (uid_ != 0 && setuid(uid_) != 0) _exit(127);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    (void)!freopen("/dev/null", "w", stdout);
    (void)!freopen((folder_ + "/server.log").c_str(), "a", stderr);
    if (chdir("/") != 0) _exit(127);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  std::string folder_;
  std::string programs_;
  uid_t uid_ = 0;
  pid_t pid_ = -1;
  int databases_ = 0;
};

// Starts it once for the program; without PostgreSQL its tests are skipped, but not in CI.
class PostgresEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    if (!postgres_programs().empty()) {
      ASSERT_TRUE(PostgresServer::instance().start());
      return;
    }
    const char* ci = std::getenv("CI");
    if (ci != nullptr && *ci != '\0') FAIL() << "PostgreSQL is missing: tools/setup test";
    GTEST_SKIP() << "PostgreSQL is missing: tools/setup test";
  }
  void TearDown() override { PostgresServer::instance().stop(); }
};

}  // namespace dove::store
