#include "hook/hook.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "files/text_file.h"

namespace dove::hook {
namespace {

namespace fs = std::filesystem;

class HookFile : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / "dove-hook-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder = fs::canonical(folder);
    path = folder + "/check";
    ASSERT_TRUE(files::write_atomically(path, "#!/bin/sh\n", 0700).ok());
  }
  void TearDown() override { fs::remove_all(folder); }

  // The message, or "" when it is taken.
  static std::string trouble(const std::string& given, const std::string& ca_file = "") {
    const Result<Hook> hook = hook_of(given, ca_file);
    if (hook.ok()) return "";
    EXPECT_EQ(hook.error().code, "bad_hook");
    return hook.error().message;
  }

  std::string folder;
  std::string path;
};

TEST_F(HookFile, IsTakenWhereNobodyElseCanChangeIt) {
  const Result<Hook> hook = hook_of(path, "");
  ASSERT_TRUE(hook.ok()) << hook.error().message;
  EXPECT_EQ(hook->program, path);
  ::chmod(path.c_str(), 0755);
  ::chmod(folder.c_str(), 0755);
  EXPECT_EQ(trouble(path), "");
}

TEST_F(HookFile, IsRefusedWhereSomebodyElseCould) {
  ::chmod(path.c_str(), 0777);
  EXPECT_NE(trouble(path).find("others may write in " + path), std::string::npos);
}

TEST_F(HookFile, IsAProgramWithAnAbsolutePath) {
  ::chmod(path.c_str(), 0600);
  EXPECT_NE(trouble(path).find("cannot be executed"), std::string::npos);
  ::chmod(path.c_str(), 0700);
  EXPECT_NE(trouble(folder).find("no regular file"), std::string::npos);
  EXPECT_NE(trouble(folder + "/none").find("No such file"), std::string::npos);
  for (const char* other : {"check", "./check", "check --fast", ""}) {
    EXPECT_NE(trouble(other).find("absolute path"), std::string::npos) << other;
  }
  EXPECT_NE(trouble(path, "/etc/ca.pem").find("https://"), std::string::npos);
}

TEST(HookAddress, IsHttpsOrOfThisMachine) {
  for (const char* url : {"https://id.example.org/check?key=1", "http://127.0.0.1:9/check",
                          "http://localhost", "http://[::1]:80/"}) {
    EXPECT_TRUE(hook_of(url, "").ok()) << url;
  }
  for (const char* url :
       {"http://id.example.org/check", "http://127.0.0.1.example.org/", "ftp://id.example.org",
        "https://", "https://me:word@id.example.org", "HTTPS://id.example.org",
        "https://a.example.org,https://b.example.org"}) {
    EXPECT_FALSE(hook_of(url, "").ok()) << url;
  }
  EXPECT_FALSE(hook_of("https://id.example.org", "/no/such/ca.pem").ok());
}

}  // namespace
}  // namespace dove::hook
