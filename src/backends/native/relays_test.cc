#include "backends/native/relays.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

using std::chrono::seconds;

class Answer : public wire::Responder {
 public:
  void send(wire::Response response) override { status = response.status; }
  std::shared_ptr<wire::Outflow> stream(int, wire::Pairs) override { return nullptr; }
  bool peer_alive() const override { return alive; }

  int status = 0;
  bool alive = true;
};

class RelaysTest : public testing::Test {
 protected:
  RelaysTest() {
    id_ = relays_.open({{NodeId{1}},
                        [this](const listener::Call&, bool) { ++chunks_; },
                        [this] { return waiting_bytes_; },
                        [](NodeId) {},
                        [this] {
                          ++broken_;
                          relays_.close(id_);
                        }});
  }

  std::shared_ptr<Answer> deliver(const std::string& query) {
    auto answer = std::make_shared<Answer>();
    auto call = std::make_shared<listener::Call>();
    call->request.target = "/relays?" + query;
    EXPECT_TRUE(wire::split_target(call->request).ok());
    call->responder = answer;
    call->caller.node = NodeId{1};
    relays_.deliver(id_, std::move(call));
    return answer;
  }

  wire::Loop loop_;
  Relays relays_{loop_};
  std::string id_;
  std::size_t waiting_bytes_ = 0;
  int chunks_ = 0;
  int broken_ = 0;
};

TEST_F(RelaysTest, AnAgentWaitsForASlowReader) {
  waiting_bytes_ = 2 << 20;
  const auto answer = deliver("end=0");
  EXPECT_EQ(chunks_, 1);
  loop_.run_until([] { return false; }, std::chrono::milliseconds(30));
  EXPECT_EQ(answer->status, 0);
  waiting_bytes_ = 0;
  EXPECT_TRUE(loop_.run_until([&] { return answer->status == 204; }, seconds(5)));
}

// Its step would be taken for one without a client meanwhile, and be ended.
TEST_F(RelaysTest, AReaderThatStandsStillIsNotSentBackBeforeItReads) {
  waiting_bytes_ = 2 << 20;
  const auto gone = deliver("end=0&broken=1");
  gone->alive = false;  // the agent's time was over
  const auto again = deliver("end=0&broken=1");
  loop_.run_until([] { return false; }, std::chrono::milliseconds(30));
  EXPECT_EQ(broken_, 0);
  EXPECT_EQ(again->status, 0);
  waiting_bytes_ = 0;
  EXPECT_TRUE(loop_.run_until([&] { return again->status == 204; }, seconds(5)));
  EXPECT_EQ(broken_, 1);
  EXPECT_EQ(gone->status, 0);
  EXPECT_EQ(deliver("end=0")->status, 404);
}

TEST_F(RelaysTest, AReaderThatReadsHearsAtOnceThatItsRelayBroke) {
  EXPECT_EQ(deliver("end=0&broken=1")->status, 204);
  EXPECT_EQ(broken_, 1);
}

}  // namespace
}  // namespace dove::backends
