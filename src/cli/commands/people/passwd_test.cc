// dove passwd: what is read from where, what is sent, and what is shown of it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli_bed_for_test.h"
#include "cli/command.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr char kPut[] = "PUT /v1/users/ada/password";

class PasswdCommand : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    // Whoever runs the tests on a terminal is not asked.
    saved_ = ::dup(STDIN_FILENO);
    const int none = ::open("/dev/null", O_RDONLY);
    ::dup2(none, STDIN_FILENO);
    ::close(none);
    me("ada");
    server_.set("DELETE /v1/users/ada/password", {204, ""});
    server_.set(kPut, {200, R"({"user":"ada","sessions_ended":2})"});
  }
  void TearDown() override {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
    CliTest::TearDown();
  }
  void me(const std::string& name) {
    server_.set("GET /v1/me", {200, json{{"user", name}, {"roles", json::array()}}.dump()});
  }
  Outcome with_input(const std::string& text, std::vector<std::string> words) {
    std::istringstream input(text);
    std::streambuf* former = std::cin.rdbuf(input.rdbuf());
    std::cin.clear();
    Outcome outcome = run(std::move(words));
    std::cin.rdbuf(former);
    return outcome;
  }
  json sent() { return json::parse(server_.body_of(kPut)); }

 private:
  int saved_ = -1;
};

TEST_F(PasswdCommand, OnesOwnTakesTheFormerOne) {
  const Outcome outcome = with_input("open sesame now\nclose sesame now\n", {"dove", "passwd"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(sent(), (json{{"former", "open sesame now"}, {"password", "close sesame now"}}));
  EXPECT_NE(outcome.err.find("2 sessions of browsers are ended"), std::string::npos);
  EXPECT_EQ((outcome.out + outcome.err).find("sesame"), std::string::npos) << "it is not shown";
}

TEST_F(PasswdCommand, AnothersIsMadeOrReadAndGoodOnce) {
  me("root");
  server_.set(kPut, {200, R"({"user":"ada","sessions_ended":0,"once_until_us":1800000000000000})"});
  const Outcome made = run({"dove", "passwd", "ada", "--generate"});
  EXPECT_EQ(made.code, kExitOk) << made.err;
  EXPECT_EQ(made.out, sent().at("password").get<std::string>() + "\n");
  EXPECT_EQ(made.out.size(), 24u);
  EXPECT_NE(made.err.find("ada signs in with it once"), std::string::npos) << made.err;
  EXPECT_NE(run({"dove", "passwd", "ada", "--generate"}).out, made.out);
  const Outcome read = with_input("first of january\n", {"dove", "passwd", "ada"});
  EXPECT_EQ(sent(), (json{{"password", "first of january"}}));
  EXPECT_EQ(read.out.find("january"), std::string::npos);
}

TEST_F(PasswdCommand, NothingIsChangedByHalfAnInput) {
  for (const char* text : {"", "\n", "open sesame now\n", "open sesame now\n\n"}) {
    EXPECT_EQ(with_input(text, {"dove", "passwd"}).code, kExitUsage) << text;
  }
  me("admin");
  EXPECT_EQ(with_input("a\nb\n", {"dove", "passwd"}).code, kExitUsage);
  const Outcome empty = with_input("", {"dove", "passwd", "ada"});
  EXPECT_NE(empty.err.find("--generate makes one"), std::string::npos) << empty.err;
  EXPECT_EQ(run({"dove", "passwd", "ada", "--remove", "--generate"}).code, kExitUsage);
  EXPECT_EQ(server_.body_of(kPut), "");
}

TEST_F(PasswdCommand, RemoveSaysWhatStays) {
  const Outcome outcome = run({"dove", "passwd", "ada", "--remove"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.err.find("sessions and keys stay"), std::string::npos);
}

}  // namespace
}  // namespace dove::cli
