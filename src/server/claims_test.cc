// Agents that have seen a log other than the one that the controller has now.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "listener/identity.h"
#include "server/api_fixture.h"

namespace dove::server {
namespace {

// Says that it is a fake: each record's chain follows from its number alone.
class FakeChainedStore : public store::MemoryStore {
 public:
  store::Head head() const override {
    store::Head head = store::MemoryStore::head();
    head.chain_sha256 = chain_of(head.seq);
    return head;
  }
  Result<std::optional<std::string>> chain_at(Seq seq) override {
    if (fails) return Error{ErrorKind::kUnavailable, "store_unreachable", "it is away", ""};
    if (seq <= forgotten) return std::optional<std::string>();
    return std::optional(chain_of(seq));
  }
  static std::string chain_of(Seq seq) {
    return fmt::format("{:016x}{:048x}", seq.value * 2'654'435'761U, 7);
  }

  bool fails = false;
  Seq forgotten;
};

class Claims : public testing::Test {
 protected:
  Claims() {
    agent.connect();
    const Json told = agent.report(Json::array()).body;
    agent.epoch_seen = told.at("epoch");
    agent.log_head_seen = told.at("log_head");
    agent.also_said["head_proof"] = told.at("proof");
  }
  // A claim as this cluster's controller gave it when its log was another one.
  void claim(Epoch epoch, Seq head, const listener::LogEnd& end) {
    agent.epoch_seen = epoch.value;
    agent.log_head_seen = head.value;
    agent.also_said["head_proof"] =
        listener::Identity::open(live.directory())->head_proof(epoch, head, end);
  }

  FakeChainedStore store;
  LiveApi live{store, policies::standard_policies()};
  FakeAgent agent{live, "n1"};
};

TEST_F(Claims, WhatThisLogToldIsGoodWhileItGoesOn) {
  EXPECT_LT(agent.also_said["head_proof"].get<std::string>().size(), 64u) << "an agent keeps 63";
  live.submit(small_job_body());
  EXPECT_EQ(agent.sync().status, 200);
  EXPECT_FALSE(live.fatal.has_value());
}

TEST_F(Claims, AnotherRecordOfThatNumberStopsTheController) {
  const Seq head(agent.log_head_seen);
  claim(Epoch(agent.epoch_seen), head, {head, "0123456789abcdef"});
  live.submit(small_job_body());  // the log goes beyond it
  const Answer synced = agent.sync();
  EXPECT_EQ(synced.status, 409);
  EXPECT_EQ(synced.code(), "log_rewound");
  EXPECT_NE(synced.body["detail"].get<std::string>().find("dove restore --in-place"),
            std::string::npos);
  ASSERT_TRUE(live.fatal.has_value());
  EXPECT_EQ(live.call("POST", "/v1/jobs", small_job_body()).code(), "log_rewound");
}

// An order is told with the end of the log of that moment.
TEST_F(Claims, TheLogEndedBeyondTheRecordThatTheAgentWasToldOf) {
  const Seq head(agent.log_head_seen);
  claim(Epoch(agent.epoch_seen), Seq(1), {Seq(2), FakeChainedStore::chain_of(Seq(2))});
  EXPECT_EQ(agent.sync().status, 200);
  claim(Epoch(agent.epoch_seen), head, {Seq(1'000'000), "0123456789abcdef"});
  EXPECT_EQ(agent.sync().code(), "log_head_behind");
}

TEST_F(Claims, WhatCannotBeComparedIsTaken) {
  const Epoch epoch(agent.epoch_seen);
  claim(epoch, Seq(1), {});  // by a former version
  EXPECT_EQ(agent.sync().status, 200);
  store.forgotten = Seq(2);
  claim(epoch, Seq(2), {Seq(2), "0123456789abcdef"});
  EXPECT_EQ(agent.sync().status, 200);
  EXPECT_FALSE(live.fatal.has_value());
}

TEST_F(Claims, AStoreThatDoesNotAnswerIsNoReasonToStop) {
  store.fails = true;
  EXPECT_EQ(agent.sync().status, 503);
  EXPECT_FALSE(live.fatal.has_value());
  store.fails = false;
  EXPECT_EQ(agent.sync().status, 200);
}

}  // namespace
}  // namespace dove::server
