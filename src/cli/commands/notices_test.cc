// dove notices: the list is read, changed and sent back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"
#include "cli/command.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr char kPath[] = "/v1/users/ada/notices";
constexpr char kOne[] =
    R"({"user":"ada","mail":true,"webhooks":true,"targets":[{"by":"webhook",
        "to":"https://hooks.example.org/***1a2b3c4d","about":["job_ended"],"waiting":2,"delivered":7,
        "suppressed":3,"error":"http_500: hooks.example.org answered 500","error_at_us":1}]})";

class NoticesCommand : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    server_.set("GET /v1/me", {200, R"({"user":"ada","admin":false,"roles":[]})"});
    server_.set(std::string("GET ") + kPath, {200, kOne});
    server_.set(std::string("PUT ") + kPath, {200, kOne});
  }
  json sent() { return json::parse(server_.body_of(std::string("PUT ") + kPath)); }
};

TEST_F(NoticesCommand, TheListSaysHowItGoes) {
  const Outcome outcome = run({"dove", "notices"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  for (const char* part : {"https://hooks.example.org/***1a2b3c4d", "job_ended", "7", "http_500"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  }
  EXPECT_NE(outcome.err.find("3 more were not sent"), std::string::npos) << outcome.err;
}

TEST_F(NoticesCommand, AddKeepsWhatIsThere) {
  const Outcome outcome =
      run({"dove", "notices", "add", "--mail", "ada@example.org", "--about", "job_failed"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(sent(),
            (json{{"targets",
                   {{{"by", "webhook"},
                     {"to", "https://hooks.example.org/***1a2b3c4d"},
                     {"about", {"job_ended"}}},
                    {{"by", "mail"}, {"to", "ada@example.org"}, {"about", {"job_failed"}}}}}}));
  EXPECT_EQ(run({"dove", "notices", "add", "--slack", "https://h/x"}).code, kExitOk);
  EXPECT_EQ(sent()["targets"][1]["about"], json({"job_ended", "job_stops_soon", "session_idle"}));
}

TEST_F(NoticesCommand, RemoveAndTestGoByNumber) {
  EXPECT_EQ(run({"dove", "notices", "remove", "1"}).code, kExitOk);
  EXPECT_EQ(sent(), (json{{"targets", json::array()}}));
  EXPECT_EQ(run({"dove", "notices", "remove", "2"}).code, kExitNotFound);
  const std::string test = std::string("POST ") + kPath + "/1/test";
  server_.set(test, {200, R"({"delivered":true})"});
  EXPECT_EQ(run({"dove", "notices", "test", "1"}).out, "delivered\n");
  server_.set(test, {200, R"({"delivered":false,"code":"timeout","detail":"h: no answer"})"});
  const Outcome failed = run({"dove", "notices", "test", "1"});
  EXPECT_EQ(failed.code, kExitFailed);
  EXPECT_NE(failed.err.find("not delivered: h: no answer (timeout)"), std::string::npos);
}

TEST_F(NoticesCommand, WhatIsWrongIsAUsageError) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"dove", "notices", "add"},
           {"dove", "notices", "add", "--mail", "a@b", "--slack", "https://h"},
           {"dove", "notices", "remove", "x"},
           {"dove", "notices", "test", "0"}}) {
    EXPECT_EQ(run(words).code, kExitUsage);
  }
}

}  // namespace
}  // namespace dove::cli
