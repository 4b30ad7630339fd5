// The agent of a cluster whose one controller lives and has no time for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/tasks/null_runner.h"
#include "wire/fake_time_for_test.h"
#include "wire/tls/authority.h"

namespace dove::agent {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

// A controller at some of whose ports nobody has a turn in time. At the others nodes are certified
// at once.
class FakeBusyController final : public wire::FakeTime {
 public:
  static constexpr std::uint16_t kPeople = 7717;
  static constexpr std::uint16_t kAgents = 7718;

  std::unique_ptr<wire::ClientLine> line(const std::string&, std::uint16_t port,
                                         const wire::AsyncClientOptions& options) override {
    return std::make_unique<Line>(*this, port, options.connect_timeout);
  }

  // In vain.
  struct Attempt {
    std::int64_t from_us = 0;
    std::int64_t until_us = 0;
    std::chrono::microseconds patience{0};
    std::string code;
  };

  int certificates = 0;
  std::vector<Attempt> attempts;
  std::set<std::uint16_t> busy{kAgents};
  bool takes_connections = true;

 private:
  using Time = std::chrono::microseconds;
  static constexpr Time kTaken = 5s;  // as wire/outgoing.h says
  struct Line final : wire::ClientLine {
    Line(FakeBusyController& of, std::uint16_t to, std::chrono::microseconds within)
        : world(of), port(to), patience(within) {}
    void call(wire::Request request, std::function<void(Result<wire::Response>)> done,
              std::chrono::microseconds timeout) override {
      if (!world.busy.contains(port)) return done(world.certify(request));
      const auto connects = world.takes_connections ? patience : std::min<Time>(patience, kTaken);
      const char* late = world.takes_connections ? "handshake_timeout" : "connect_timeout";
      const char* code = timeout < connects ? "timeout" : late;
      const Time time = std::min(timeout, connects);
      const std::int64_t now_us = world.monotonic_us();
      world.attempts.push_back({now_us, now_us + time.count(), patience, code});
      world.after(time, [done = std::move(done), code] {
        done(Error{ErrorKind::kTimeout, code, "no turn in time", ""});
      });
    }
    void connect_within(std::chrono::microseconds within) override { patience = within; }
    std::unique_ptr<wire::InStream> open_stream(wire::Request, wire::StreamCallbacks) override {
      return nullptr;
    }
    std::size_t pending() const override { return 0; }
    FakeBusyController& world;
    const std::uint16_t port;
    std::chrono::microseconds patience;
  };

  wire::Response certify(const wire::Request& request) {
    ++certificates;
    const wire::Grant grant{
        .uri = "dove://c/node/n1", .now_s = std::time(nullptr), .valid_s = 86'400};
    const std::string asked = Json::parse(request.body).at("request");
    const Json answer{{"certificate", authority_.issue(asked, grant).value()},
                      {"authority", authority_.credentials().chain_pem},
                      {"agents_port", kAgents}};
    return {200, {}, answer.dump()};
  }

  const wire::Authority authority_ = wire::Authority::make("test", std::time(nullptr) - 60);
};

class HeldUpTest : public testing::Test {
 protected:
  HeldUpTest() {
    std::string pattern = testing::TempDir() + "held_up.XXXXXX";
    data_ = mkdtemp(pattern.data());
    std::ofstream(data_ + "/agent_token") << "secret-1";
    options_.name = "n1";
    options_.boot_id = "boot-1";
    options_.data_dir = data_;
    options_.mapped_users = false;
    options_.tls = true;
    options_.host = "controller";
    options_.port = FakeBusyController::kPeople;
    options_.renew_lease = [](std::int64_t) {};
  }
  ~HeldUpTest() override { std::filesystem::remove_all(data_); }

  // Between the end of an attempt and the next one.
  std::int64_t pause_us(std::size_t i) const {
    return world_.attempts.at(i + 1).from_us - world_.attempts.at(i).until_us;
  }
  void hold_up(std::chrono::microseconds time) {
    Agent agent(loop_, options_, Inventory(), runner_);
    ASSERT_TRUE(agent.start().ok());
    world_.run_for(time);
  }

  // It keeps its place in line for longer each time, whatever it waits there for.
  void expect_more_patience_each_time() {
    hold_up(10min);
    const auto& attempts = world_.attempts;
    ASSERT_GE(attempts.size(), 5U);
    const std::vector<std::chrono::seconds> held{20s, 40s, 80s, 100s, 100s};
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::chrono::microseconds time(attempts[i].until_us - attempts[i].from_us);
      EXPECT_EQ(time, held[i]) << i;
      EXPECT_EQ(attempts[i].code, "handshake_timeout") << i;
    }
  }

  FakeBusyController world_;
  wire::Loop loop_{world_};
  NullRunner runner_{loop_};
  AgentOptions options_;
  std::string data_;
};

TEST_F(HeldUpTest, WaitsLongerEachTimeToSync) { expect_more_patience_each_time(); }

TEST_F(HeldUpTest, WaitsLongerEachTimeForItsCertificate) {
  world_.busy = {FakeBusyController::kPeople};
  expect_more_patience_each_time();
}

TEST_F(HeldUpTest, WaitsLongerEachTimeToJoin) {
  std::filesystem::remove(data_ + "/agent_token");
  options_.join_token = "join-1";
  world_.busy = {FakeBusyController::kPeople};
  expect_more_patience_each_time();
}

// What a controller is asked that has too much to do must become less, or it never recovers.
TEST_F(HeldUpTest, AsksLessAndLessOften) {
  hold_up(1h);
  ASSERT_GT(world_.attempts.size(), 20U);
  EXPECT_LT(pause_us(0), 1'000'000) << "it may have been chance";
  for (std::size_t i = 8; i < 20; ++i) {
    EXPECT_GE(pause_us(i), i == 15 ? 0 : 5'000'000) << i;
    EXPECT_LT(pause_us(i), 8'000'000) << i << ": it is still a node of this cluster";
  }
  EXPECT_NE(pause_us(9), pause_us(10)) << "not in step with others";
}

// Each costs as much as ten connections by the key that came with the last one.
TEST_F(HeldUpTest, AsksForACertificateSeldom) {
  hold_up(1h);
  EXPECT_GE(world_.certificates, 2) << "the port may be another one all the same";
  EXPECT_LE(world_.certificates, 1 + static_cast<int>(world_.attempts.size() / 15));
}

// Nobody took it, so it cost nobody anything; the network may come back any moment, or the
// controller at another port.
TEST_F(HeldUpTest, WhereNothingAnswersItTriesOnAtTheSamePace) {
  world_.takes_connections = false;
  hold_up(10min);
  ASSERT_GT(world_.attempts.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_LT(pause_us(i), 1'100'000) << i;
    EXPECT_EQ(world_.attempts[i].patience, 20s) << i << ": nobody had it wait in line";
  }
  EXPECT_GE(world_.certificates, 1 + static_cast<int>(world_.attempts.size() - 1) / 3);
}

// Another one may be about to lead, and is asked next anyway: were it asked for certificates, too,
// it could begin only later.
TEST_F(HeldUpTest, WhereOneOfSeveralDoesNotAnswerTheOthersAreAskedForNoCertificates) {
  world_.takes_connections = false;
  options_.other_controllers = {{true, "other", FakeBusyController::kPeople, ""}};
  hold_up(1min);
  ASSERT_GT(world_.attempts.size(), 8U);
  ASSERT_LT(world_.attempts.size(), 16U);
  EXPECT_EQ(world_.certificates, 2) << "one of each, by which it knows the port of agents";
}

}  // namespace
}  // namespace dove::agent
