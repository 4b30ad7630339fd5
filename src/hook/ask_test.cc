#include "hook/ask.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "files/text_file.h"

namespace dove::hook {
namespace {

namespace fs = std::filesystem;

class AskProgram : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    folder = fs::temp_directory_path() / "dove-hook-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    hook.program = folder + "/check";
  }
  void TearDown() override { fs::remove_all(folder); }

  Result<Person> answer_of(const std::string& script) {
    CHECK(files::write_atomically(hook.program, "#!/bin/sh\n" + script + "\n", 0700).ok(),
          "the script is written");
    return ask(hook, {"ada", "open sesame", "192.0.2.7"});
  }
  // "CODE: MESSAGE", or the user's name.
  std::string said(const std::string& script) {
    const Result<Person> person = answer_of(script);
    return person.ok() ? person->user : person.error().code + ": " + person.error().message;
  }

  std::string folder;
  Hook hook;
};

TEST_F(AskProgram, IsToldWhoAsksAndSaysWhoThatIs) {
  EXPECT_EQ(said(R"(grep -q '"password":"open sesame"' && echo '{"user": "ada"}')"), "ada");
  const Result<Person> groups = answer_of(R"(echo '{"user": "ada", "groups": ["ml"]}')");
  ASSERT_TRUE(groups.ok());
  EXPECT_EQ(groups->groups, std::vector<std::string>{"ml"});
}

TEST_F(AskProgram, Refuses) {
  EXPECT_EQ(said("exit 1"), "refused: exit status 1");
  EXPECT_EQ(said("echo locked >&2; exit 1"), "refused: exit status 1; it says: locked");
  EXPECT_EQ(said(R"(echo '{"refused": "no such account"}')"), "refused: no such account");
  EXPECT_EQ(said(R"(echo '{"refused": "not open sesame"}')"), "refused: ");
}

TEST_F(AskProgram, FailsWhereItDoesAnythingElse) {
  EXPECT_EQ(said("echo directory is down >&2; exit 2"),
            "hook_failed: exit status 2; it says: directory is down");
  EXPECT_EQ(said("cat >&2; exit 3"), "hook_failed: exit status 3") << "it has shown the password";
  EXPECT_EQ(said("kill -9 $$"), "hook_failed: exit status 137");
  EXPECT_EQ(said("echo ada"), "hook_failed: its answer is no JSON object");
  EXPECT_NE(said("cat /dev/zero").find("more than 64 KiB"), std::string::npos);
  // What it writes before a failure is no answer.
  EXPECT_EQ(said(R"(echo '{"user": "ada"}'; exit 4)"), "hook_failed: exit status 4");
  hook.limit = std::chrono::milliseconds(100);
  EXPECT_NE(said("exec sleep 300").find("no end after 100 ms"), std::string::npos);
  hook.program = folder + "/none";
  EXPECT_EQ(ask(hook, {"ada", "open sesame", ""}).error().code, "hook_failed");
}

TEST_F(AskProgram, HasNothingOfOurs) {
  ::setenv("DOVE_CANARY", "1", 1);
  EXPECT_EQ(said(R"(test -z "$DOVE_CANARY$HOME" && test "$LANG" = C.UTF-8 && test -n "$PATH" &&
                    echo '{"user": "ada"}')"),
            "ada");
  const int open = ::fcntl(0, F_DUPFD, 20);
  ASSERT_GE(open, 20);
  EXPECT_EQ(said(R"(for fd in /proc/self/fd/*; do n=${fd##*/}; [ "$n" -gt 10 ] && exit 3; done
                    echo '{"user": "ada"}')"),
            "ada");
  ::close(open);
}

TEST_F(AskProgram, IsNoLineOfAShell) {
  hook.program = folder + "/check; touch " + folder + "/made";
  EXPECT_EQ(ask(hook, {"$(id)", "`id`", ""}).error().code, "hook_failed");
  EXPECT_FALSE(fs::exists(folder + "/made"));
  // A text without an interpreter's line is no program.
  hook.program = folder + "/text";
  ASSERT_TRUE(files::write_atomically(hook.program, "echo '{\"user\": \"ada\"}'\n", 0700).ok());
  EXPECT_EQ(ask(hook, {"ada", "open sesame", ""}).error().code, "hook_failed");
}

}  // namespace
}  // namespace dove::hook
