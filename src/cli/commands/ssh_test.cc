// dove ssh and ssh-key: what they ask of the server, and what the system's ssh is called with.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"
#include "cli/command.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr char kSession[] =
    R"({"gateway":{"address":"gpu-head","port":7722,"host_keys":["ssh-ed25519 AAAA"]},)"
    R"("expires_at":null,"expires_at_us":0})";

class SshCommand : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    path_ = std::getenv("PATH");
    // Programs that stand in for OpenSSH's: a key that is none, and a list of what ssh was given.
    program("ssh-keygen",
            "for a; do last=$a; done; echo public > \"$last.pub\"; echo x > \"$last\"");
    program("ssh", "printf '%s\\n' \"$@\" > " + (folder_ / "words").string() + "; ls $4 >> " +
                       (folder_ / "words").string() + "; exit 9");
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("XDG_RUNTIME_DIR");
    CliTest::TearDown();
  }
  void program(const std::string& name, const std::string& script) {
    const std::string path = file(name, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  std::string words() {
    std::ifstream in(folder_ / "words");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string path_;
};

TEST_F(SshCommand, RunsTheSystemsSshWithAKeyOfItsOwn) {
  server_.set("POST /v1/me/ssh-sessions", {201, kSession});
  const Outcome outcome =
      run({"dove", "ssh", "--task", "3", "-L", "1:localhost:2", "42", "ls", "-l"});
  EXPECT_EQ(outcome.code, 9) << outcome.err;
  const json body = json::parse(server_.body_of("POST /v1/me/ssh-sessions"));
  EXPECT_EQ(body.at("job"), "42");
  EXPECT_EQ(body.at("key"), "public\n");
  const std::string given = words();
  for (const char* word :
       {"\nStrictHostKeyChecking=yes\n", "\nIdentitiesOnly=yes\n", "\n-p\n7722\n",
        "\n-L\n1:localhost:2\n", "\n-l\n42.3\n--\ngpu-head\nls\n-l\n"}) {
    EXPECT_NE(given.find(word), std::string::npos) << word << given;
  }
  // What was made for it has gone.
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("dove-ssh.")) << entry.path();
  }
}

TEST_F(SshCommand, ARefusalIsTheServers) {
  server_.set("POST /v1/me/ssh-sessions",
              {404, R"({"status":404,"code":"no_ssh_gateway","detail":"there is no gateway"})"});
  const Outcome outcome = run({"dove", "ssh", "42"});
  EXPECT_EQ(outcome.code, kExitNotFound);
  EXPECT_NE(outcome.err.find("there is no gateway"), std::string::npos);
  EXPECT_EQ(words(), "");
}

TEST_F(SshCommand, KeysAreOnesOwn) {
  server_.set("GET /v1/me", {200, R"({"user":"ada"})"});
  server_.set("POST /v1/users/ada/ssh-keys",
              {201, R"({"id":"1f0c","key":"k","warnings":["rather weak"]})"});
  server_.set(
      "GET /v1/users/bob/ssh-keys",
      {200,
       R"({"keys":[{"id":"2f","key":"k","kind":"ssh-ed25519","comment":"b@x","warnings":[]}]})"});
  server_.set("DELETE /v1/users/ada/ssh-keys/1f0c", {204, ""});
  const Outcome added = run({"dove", "ssh-key", "add", file("k.pub", "ssh-ed25519 AAAA\n")});
  EXPECT_EQ(added.out, "SSH key 1f0c is added\n");
  EXPECT_NE(added.err.find("rather weak"), std::string::npos);
  EXPECT_EQ(run({"dove", "ssh-key", "list", "--user", "bob", "-o", "name"}).out, "2f\n");
  EXPECT_NE(run({"dove", "ssh-key", "list", "--user", "bob"}).out.find("b@x"), std::string::npos);
  EXPECT_EQ(run({"dove", "ssh-key", "remove", "1f0c"}).out, "SSH key 1f0c is removed\n");
  server_.set("GET /v1/ssh-gateway",
              {200, R"({"address":"gpu-head","port":7722,"host_keys":["ssh-ed25519 AAAA"]})"});
  EXPECT_EQ(run({"dove", "ssh-key", "gateway"}).out, "[gpu-head]:7722 ssh-ed25519 AAAA\n");
}

}  // namespace
}  // namespace dove::cli
