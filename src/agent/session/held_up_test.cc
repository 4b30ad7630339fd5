// The agent of a cluster whose one controller lives and has no time for it.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
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

// A controller that certifies nodes at once; at the port of agents nobody has a turn in time.
class FakeBusyController final : public wire::FakeTime {
 public:
  static constexpr std::uint16_t kPeople = 7717;
  static constexpr std::uint16_t kAgents = 7718;

  std::unique_ptr<wire::ClientLine> line(const std::string&, std::uint16_t port,
                                         const wire::AsyncClientOptions&) override {
    return std::make_unique<Line>(*this, port);
  }

  int certificates = 0;
  std::vector<std::int64_t> attempts_us;  // to sync
  std::chrono::microseconds patience = 20s;
  const char* late = "handshake_timeout";

 private:
  struct Line final : wire::ClientLine {
    Line(FakeBusyController& of, std::uint16_t to) : world(of), port(to) {}
    void call(wire::Request request, std::function<void(Result<wire::Response>)> done,
              std::chrono::microseconds) override {
      if (port == kPeople) return done(world.certify(request));
      world.attempts_us.push_back(world.monotonic_us());
      world.after(world.patience, [done = std::move(done), code = world.late] {
        done(Error{ErrorKind::kTimeout, code, "no turn in time", ""});
      });
    }
    std::unique_ptr<wire::InStream> open_stream(wire::Request, wire::StreamCallbacks) override {
      return nullptr;
    }
    std::size_t pending() const override { return 0; }
    FakeBusyController& world;
    const std::uint16_t port;
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
    const auto& at_us = world_.attempts_us;
    return at_us.at(i + 1) - at_us.at(i) - world_.patience.count();
  }
  void hold_up(std::chrono::microseconds time) {
    Agent agent(loop_, options_, Inventory(), runner_);
    ASSERT_TRUE(agent.start().ok());
    world_.run_for(time);
  }

  FakeBusyController world_;
  wire::Loop loop_{world_};
  NullRunner runner_{loop_};
  AgentOptions options_;
  std::string data_;
};

// What a controller is asked that has too much to do must become less, or it never recovers.
TEST_F(HeldUpTest, AsksLessAndLessOften) {
  hold_up(1h);
  ASSERT_GT(world_.attempts_us.size(), 20U);
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
  EXPECT_LE(world_.certificates, 1 + static_cast<int>(world_.attempts_us.size() / 15));
}

// Nobody took it, so it cost nobody anything; the network may come back any moment.
TEST_F(HeldUpTest, WhereNothingAnswersItTriesOnAtTheSamePace) {
  world_.late = "connect_timeout";
  hold_up(10min);
  ASSERT_GT(world_.attempts_us.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_LT(pause_us(i), 1'100'000) << i;
}

}  // namespace
}  // namespace dove::agent
