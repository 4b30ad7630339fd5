#include "cli/cli_bed_for_test.h"

namespace dove::cli {
namespace {

// The name leads to this machine, which nobody can know by it.
TEST_F(CliTest, NoTokenGoesOverTheNetworkInTheClear) {
  const std::string url = "http://head.localhost" + server_.url().substr(server_.url().rfind(':'));
  setenv("no_proxy", "*", 1);
  setenv("DOVE_URL", url.c_str(), 1);
  setenv("DOVE_TOKEN", "secret-token", 1);
  server_.set("GET /v1/jobs", {200, R"({"jobs":[]})"});
  const Outcome refused = run({"dove", "ps"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("--insecure or DOVE_INSECURE=1"), std::string::npos) << refused.err;
  EXPECT_NE(run({"dove", "login", url}).err.find("--insecure"), std::string::npos);
  EXPECT_TRUE(server_.requests().empty());

  EXPECT_EQ(run({"dove", "ps", "--insecure"}).code, kExitOk);
  setenv("DOVE_INSECURE", "1", 1);
  EXPECT_EQ(run({"dove", "ps"}).code, kExitOk);
  unsetenv("DOVE_INSECURE");
  unsetenv("DOVE_TOKEN");
  EXPECT_EQ(run({"dove", "ps"}).code, kExitOk) << "there is nothing to hide";

  unsetenv("DOVE_URL");
  const std::string token = file("token", "secret-token\n");
  std::filesystem::create_directories(folder_ / "config/dove");
  const std::string config = "url: " + url + "\ntoken_file: " + token + "\n";
  file("config/dove/config.yaml", config);
  EXPECT_EQ(run({"dove", "ps"}).code, kExitUsage);
  file("config/dove/config.yaml", config + "insecure: true\n");
  EXPECT_EQ(run({"dove", "ps"}).code, kExitOk);
  ASSERT_FALSE(server_.requests().empty());
  EXPECT_EQ(server_.requests()[0].header("Authorization"), "Bearer secret-token");
}

}  // namespace
}  // namespace dove::cli
