#include "agent/idle/app_word.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

namespace dove::agent {
namespace {

AppSpec app_of(const std::string& activity) {
  AppSpec app;
  app.name = "app";
  app.socket = "app";
  app.activity = activity;
  return app;
}

constexpr char kIdleKernel[] =
    R"([{"execution_state":"idle","last_activity":"1970-01-01T00:01:40.5Z"}])";
constexpr char kBusyKernel[] =
    R"([{"execution_state":"busy","last_activity":"1970-01-01T00:01:00Z"}])";

TEST(AppWord, JupytersKernelsAndTerminalsSayIt) {
  const AppSpec app = app_of("jupyter");
  ASSERT_EQ(activity_paths(app).size(), 2u);
  Result<AppWord> word = read_app_word(app, {kIdleKernel, "[]"});
  ASSERT_TRUE(word.ok());
  EXPECT_FALSE(word->in_use);
  EXPECT_EQ(word->last_us, 100'500'000);
  EXPECT_TRUE(read_app_word(app, {kBusyKernel, "[]"})->in_use);
  word = read_app_word(app, {kIdleKernel, R"([{"last_activity":"1970-01-01T01:00:00Z"}])"});
  EXPECT_EQ(word->last_us, 3'600'000'000);
  EXPECT_EQ(read_app_word(app, {"[]", "[]"})->last_us, 0) << "no kernel was started";
}

TEST(AppWord, CodeServerBeatsOnceAMinuteSoAllOfTheMinuteCounts) {
  const AppSpec app = app_of("code_server");
  EXPECT_EQ(read_app_word(app, {R"({"status":"alive","lastHeartbeat":1500})"})->last_us,
            61'500'000);
  EXPECT_EQ(read_app_word(app, {R"({"status":"expired","lastHeartbeat":0})"})->last_us, 0);
}

TEST(AppWord, OthersSayWhenTheyWereUsedLast) {
  EXPECT_EQ(
      read_app_word(app_of("/used"), {R"({"last_activity":"1970-01-01T00:00:02Z"})"})->last_us,
      2'000'000);
}

TEST(AppWord, WhatIsNoAnswerSaysNothing) {
  for (const char* bad : {"", "{}", "[1]", R"([{"last_activity":7}])", "[{", "<html>"}) {
    EXPECT_FALSE(read_app_word(app_of("jupyter"), {bad, "[]"}).ok()) << bad;
  }
  for (const char* bad : {"[]", R"({"lastHeartbeat":-1})", R"({"lastHeartbeat":"1"})"}) {
    EXPECT_FALSE(read_app_word(app_of("code_server"), {bad}).ok()) << bad;
  }
  EXPECT_FALSE(body_of_answer("HTTP/1.1 403 Forbidden\r\n\r\n{}").ok());
  EXPECT_FALSE(body_of_answer("SSH-2.0\r\n\r\n").ok());
  EXPECT_EQ(*body_of_answer("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}"), "{}");
  EXPECT_TRUE(activity_paths(app_of("/a HTTP/1.0\r\nX: y")).empty()) << "nobody's header is added";
  EXPECT_TRUE(activity_paths(app_of("a")).empty());
}

// A server of one socket, which says to each what it is to say, or nothing.
class AskTest : public testing::Test {
 protected:
  AskTest() {
    std::string name = std::filesystem::temp_directory_path() / "dove-app-XXXXXX";
    directory_ = mkdtemp(name.data());
    std::filesystem::create_directory(directory_ + "/sockets");
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (directory_ + "/sockets/app").c_str(),
                 sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
  }
  ~AskTest() override {
    ::shutdown(listener_, SHUT_RDWR);
    if (server_.joinable()) server_.join();
    ::close(listener_);
    std::filesystem::remove_all(directory_);
  }
  void serve(std::vector<std::string> answers) {
    server_ = std::thread([this, answers = std::move(answers)] {
      std::vector<int> open;
      for (std::size_t i = 0;; ++i) {
        const int fd = ::accept(listener_, nullptr, nullptr);
        if (fd < 0) break;
        char request[4096];
        const ssize_t got = ::recv(fd, request, sizeof request, 0);
        requests_ += std::string(request, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (i < answers.size()) {
          ::send(fd, answers[i].data(), answers[i].size(), MSG_NOSIGNAL);
          ::close(fd);
        } else {
          open.push_back(fd);  // it never answers
        }
      }
      for (const int fd : open) ::close(fd);
    });
  }
  Result<AppWord> ask(const std::string& activity, std::chrono::milliseconds limit) {
    return ask_app(app_of(activity), ForwardTarget{{}, {directory_, directory_ + "/sockets"}},
                   limit);
  }

  std::string directory_;
  int listener_ = -1;
  std::thread server_;
  std::string requests_;
};

TEST_F(AskTest, EachPathIsAskedOverTheAppsSocket) {
  serve({std::string("HTTP/1.0 200 OK\r\n\r\n") + kBusyKernel, "HTTP/1.0 404 Not Found\r\n\r\n"});
  const Result<AppWord> word = ask("jupyter", std::chrono::seconds(20));
  ASSERT_TRUE(word.ok()) << word.error().message;
  EXPECT_TRUE(word->in_use) << "a server without terminals";
  EXPECT_TRUE(requests_.starts_with("GET /api/kernels?no_track_activity=1 HTTP/1.0\r\n"));
}

TEST_F(AskTest, OneThatNeverAnswersIsNotWaitedFor) {
  serve({});
  const Result<AppWord> word = ask("/used", std::chrono::milliseconds(50));
  ASSERT_FALSE(word.ok());
  EXPECT_EQ(word.error().code, "timeout");
}

TEST_F(AskTest, AnAnswerWithoutEndIsCutOff) {
  serve({"HTTP/1.0 200 OK\r\n\r\n" + std::string(2 << 20, 'x')});
  EXPECT_FALSE(ask("/used", std::chrono::seconds(20)).ok());
}

}  // namespace
}  // namespace dove::agent
