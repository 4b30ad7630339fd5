#include "sim/explore/network.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/explore/process.h"
#include "wire/async_client.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::sim {
namespace {

constexpr MessageFaults kNone{0, 0, 0, 0, 0, 0};

class NetworkTest : public ::testing::Test {
 protected:
  NetworkTest() {
    here_.name = "here";
    there_.name = "there";
  }
  void serve() {
    server_.emplace(*network_, there_);
    server_loop_.emplace(*server_);
    http_.emplace(*server_loop_, wire::ServerLimits(),
                  [this](const wire::Request& request, auto responder) {
                    ++requests_;
                    if (request.path == "/stream") {
                      outflow_ = responder->stream(200, {});
                      outflow_->on_closed([this] { ++server_closed_; });
                    } else {
                      responder->send(wire::Response{200, {}, request.body});
                    }
                  });
    ASSERT_TRUE(http_->listen("", 0).ok());
  }
  void kill_server() {
    outflow_.reset();
    http_.reset();
    server_loop_.reset();
    server_.reset();
  }
  void call(const std::string& body) {
    wire::Request request;
    request.method = "POST";
    request.target = "/call";
    request.body = body;
    client_.call(std::move(request), [this](const Result<wire::Response>& answer) {
      answers_.push_back(answer.ok() ? answer->body : answer.error().code);
    });
  }
  std::unique_ptr<wire::InStream> open() {
    wire::Request request;
    request.method = "GET";
    request.target = "/stream";
    wire::StreamCallbacks callbacks;
    callbacks.on_line = [this](std::string_view line) { lines_ += std::string(line) + " "; };
    callbacks.on_closed = [this](const Error& error) { closed_ = error.code; };
    return client_.open_stream(std::move(request), std::move(callbacks));
  }
  void run(std::int64_t us) {
    const std::int64_t end_us = agenda_.now_us() + us;
    agenda_.at(end_us, [] {});
    while (agenda_.now_us() < end_us && agenda_.step()) {
    }
  }

  Agenda agenda_;
  std::unique_ptr<Network> network_ = std::make_unique<Network>(agenda_, 1, kNone);
  Host here_;
  Host there_;
  Process process_{*network_, here_};
  wire::Loop loop_{process_};
  wire::AsyncClient client_{loop_, "there", 1};
  std::optional<Process> server_;
  std::optional<wire::Loop> server_loop_;
  std::optional<wire::Server> http_;
  std::shared_ptr<wire::Outflow> outflow_;
  int requests_ = 0;
  int server_closed_ = 0;
  std::vector<std::string> answers_;
  std::string lines_;
  std::string closed_;
};

// What a program tells by a real clock would differ from run to run.
TEST_F(NetworkTest, BothClocksOfALoopAreVirtual) {
  run(10'000'000);
  EXPECT_EQ(loop_.monotonic_us(), agenda_.now_us());
  EXPECT_EQ(loop_.wall_us(), agenda_.now_us());
}

TEST_F(NetworkTest, CallsAreAnsweredInOrder) {
  serve();
  call("a");
  call("b");
  run(10'000'000);
  EXPECT_EQ(answers_, (std::vector<std::string>{"a", "b"}));
}

TEST_F(NetworkTest, NobodyListensIsARefusal) {
  call("a");
  run(10'000'000);
  EXPECT_EQ(answers_, std::vector<std::string>{"connection_refused"});
}

TEST_F(NetworkTest, BehindACutACallTimesOutAndStillArrivesLate) {
  serve();
  network_->cut(here_);
  call("a");
  run(60'000'000);
  EXPECT_EQ(answers_, std::vector<std::string>{"timeout"});
  EXPECT_EQ(requests_, 0);
  network_->heal(here_, /*reset=*/false);
  run(10'000'000);
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(NetworkTest, ALostAnswerWasCarriedOut) {
  serve();
  MessageFaults faults = kNone;
  faults.lost_answer = 100'000;
  network_->set_faults(faults);
  call("a");
  run(10'000'000);
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(answers_, std::vector<std::string>{"connection_broken"});
}

TEST_F(NetworkTest, AStreamKeepsItsOrderAndBreaksAtBothEnds) {
  serve();
  const auto stream = open();
  run(10'000'000);
  outflow_->write("a\nb\n");
  outflow_->write("c\n");
  run(10'000'000);
  EXPECT_EQ(lines_, "a b c ");
  network_->reset_streams(here_);
  run(500'000);
  EXPECT_EQ(closed_, "connection_broken");
  EXPECT_EQ(server_closed_, 1);
  EXPECT_FALSE(outflow_->write("d\n"));
}

TEST_F(NetworkTest, AServerThatDiesEndsItsStreams) {
  serve();
  const auto stream = open();
  run(10'000'000);
  kill_server();
  run(10'000'000);
  EXPECT_EQ(closed_, "stream_ended");
}

TEST_F(NetworkTest, AMachineWithoutPowerSaysNothing) {
  serve();
  auto stream = open();
  run(10'000'000);
  network_->power_off(here_);
  stream.reset();
  run(60'000'000);
  EXPECT_EQ(server_closed_, 0);
  network_->power_on(here_);
  run(10'000'000);
  EXPECT_EQ(server_closed_, 1);
}

TEST_F(NetworkTest, AMachineThatStandsStillReadsLater) {
  serve();
  const auto stream = open();
  run(10'000'000);
  network_->stop(there_);
  call("a");
  bool called = false;
  server_loop_->post([&called] { called = true; });
  run(60'000'000);
  EXPECT_EQ(answers_, std::vector<std::string>{"timeout"});
  EXPECT_EQ(requests_, 1) << "the stream's";
  EXPECT_FALSE(called);
  EXPECT_EQ(closed_, "");
  network_->go_on(there_);
  run(10'000'000);
  EXPECT_EQ(requests_, 2);
  EXPECT_TRUE(called);
}

TEST_F(NetworkTest, AClientIsApartFromOneServer) {
  serve();
  const auto stream = open();
  run(10'000'000);
  network_->part(here_, there_);
  outflow_->write("a\n");
  call("a");
  run(60'000'000);
  EXPECT_EQ(lines_, "");
  EXPECT_EQ(answers_, std::vector<std::string>{"timeout"});
  network_->rejoin(here_, there_, /*reset=*/false);
  run(10'000'000);
  EXPECT_EQ(lines_, "a ");
  EXPECT_EQ(requests_, 2);
  network_->part(here_, there_);
  outflow_->write("b\n");
  run(10'000'000);
  network_->rejoin(here_, there_, /*reset=*/true);
  run(10'000'000);
  EXPECT_EQ(lines_, "a ");
  EXPECT_EQ(closed_, "connection_broken");
}

}  // namespace
}  // namespace dove::sim
