#include "openid/provider.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "files/text_file.h"

namespace dove::openid {
namespace {

class SignInFile : public testing::Test {
 protected:
  SignInFile() : folder_(std::filesystem::temp_directory_path() / "dove-sign-in-XXXXXX") {
    CHECK(mkdtemp(folder_.data()) != nullptr, "a temporary directory can be made");
  }
  ~SignInFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) {
    CHECK(files::write_atomically(path(name), text, 0600).ok(), "it is written");
  }
  Result<std::vector<Provider>> read(const std::string& text) {
    write("sign-in.yaml", text);
    return read_providers(path("sign-in.yaml"));
  }

 private:
  std::string folder_;
};

TEST_F(SignInFile, HasTheUsualSettingsWhereItSaysNothing) {
  write("secret", "hidden\n");
  const auto read = this->read(
      "providers:\n- name: corp\n  issuer: https://id.example.org\n"
      "  client_id: dove\n  groups: groups\n  client_secret_file: " +
      path("secret") + "\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Provider& one = read->at(0);
  EXPECT_EQ(one.title, "corp");
  EXPECT_EQ(one.client_secret, "hidden");
  EXPECT_EQ(one.user_claim, "preferred_username");
  EXPECT_EQ(one.group_prefix, "corp.");
  EXPECT_TRUE(one.creates_users);
  EXPECT_FALSE(one.links_users);
  EXPECT_EQ(one.scopes, (std::vector<std::string>{"openid", "profile", "email"}));
}

TEST_F(SignInFile, NamesPlaceAndRemedy) {
  const std::string good = "providers:\n- name: corp\n  issuer: https://id.example.org\n";
  const struct {
    std::string text;
    const char* says;
  } cases[] = {
      {good, ":2:3: provider corp needs the `client_id:`"},
      {good + "  client-id: dove\n",
       ":4:3: a provider has no field `client-id`; did you mean "
       "`client_id`?"},
      {"providers:\n- name: Corp\n", "a-z"},
      {"providers:\n- name: corp\n  issuer: http://id.example.org\n", "https://"},
      {good + "  client_id: dove\n  links_users: maybe\n", ":5:16: links_users is true or false"},
      {good + "  client_id: dove\n  client_secret_file: /nowhere\n", ":5:23: "},
      {good + "  client_id: dove\n- name: corp\n  issuer: https://b.example.org\n  client_id: x\n",
       "two providers corp"},
      {"issuers: []\n", "the file has no field `issuers`; it has: providers"},
      {"providers: [", ":1:12: the [ is never closed"},
      {good + "  client_id: dove\n  group_prefix: x.\n", "no effect without `groups:`"},
  };
  for (const auto& each : cases) {
    const auto read = this->read(each.text);
    ASSERT_FALSE(read.ok()) << each.text;
    EXPECT_EQ(read.error().code, "bad_sign_in_file");
    EXPECT_NE(read.error().message.find(each.says), std::string::npos) << read.error().message;
  }
  EXPECT_EQ(read_providers(path("none")).error().kind, ErrorKind::kNotFound);
}

TEST(SafeUrl, IsHttpsOrOfThisMachine) {
  for (const char* url : {"https://id.example.org/x", "http://127.0.0.1:8080/", "http://localhost",
                          "http://[::1]:3000"}) {
    EXPECT_TRUE(is_safe_url(url)) << url;
  }
  for (const char* url :
       {"http://id.example.org", "http://127.0.0.1.example.org", "https://", "", "ftp://127.0.0.1",
        "http://localhost:80@evil.example.org", "http://localhost.example.org"}) {
    EXPECT_FALSE(is_safe_url(url)) << url;
  }
}

}  // namespace
}  // namespace dove::openid
