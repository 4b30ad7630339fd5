// A node's next question for a ticket while its last sync is still being written.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

// Can make the batches wait that a node's connection is in.
class SlowToConnect : public store::MemoryStore {
 public:
  Result<void> append(Epoch epoch, Seq expected_head, const store::Batch& batch) override {
    const bool connects = std::ranges::any_of(batch.events, [](const StampedEvent& each) {
      return std::holds_alternative<NodeConnected>(each.event);
    });
    std::unique_lock lock(mutex_);
    if (connects && holds_) {
      is_held_ = true;
      changed_.wait_for(lock, std::chrono::seconds(30), [this] { return !holds_; });
    }
    return MemoryStore::append(epoch, expected_head, batch);
  }
  void hold(bool holds) {
    {
      const std::lock_guard lock(mutex_);
      holds_ = holds;
    }
    changed_.notify_all();
  }
  bool is_held() const { return is_held_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  std::atomic<bool> is_held_ = false;
};

class SyncInProgress : public testing::Test {
 protected:
  // It was there before the controller began anew, so it is awaited.
  SyncInProgress() {
    LiveApi before(store, policies::standard_policies());
    FakeAgent known(before, "n1");
    known.connect();
    token_ = known.token;
  }
  std::string token_;
  SlowToConnect store;
};

TEST_F(SyncInProgress, ItsNodeIsToldNoLongerWait) {
  LiveApi live(store, policies::standard_policies());
  FakeAgent agent(live, "n1");
  agent.token = token_;
  const Answer asked = agent.sync_once();
  ASSERT_EQ(asked.status, 200) << asked.response.body;
  EXPECT_GT(asked.body.value("waits_us", 0LL), 0) << asked.response.body;
  agent.ticket = asked.body.at("ticket").get<std::string>();

  store.hold(true);
  wire::AsyncClient impatient(live.loop, "127.0.0.1", live.api->port());
  wire::Request sync;
  sync.method = "POST";
  sync.target = "/v1/agents/n1/sync";
  sync.headers = {{"Authorization", "Bearer " + token_}};
  sync.body = agent.greeting().dump();
  int status = 0;
  impatient.call(std::move(sync), [&status](const Result<wire::Response>& answer) {
    status = answer.ok() ? answer->status : -1;
  });
  ASSERT_TRUE(live.until([&] { return store.is_held(); }));

  agent.ticket.clear();
  const Answer again = agent.sync_once();
  ASSERT_EQ(again.status, 200) << again.response.body;
  EXPECT_TRUE(again.body.contains("ticket"));
  EXPECT_FALSE(again.body.contains("waits_us")) << "the sync that is being written ends that";
  EXPECT_EQ(status, 0) << "it is still being written";

  store.hold(false);
  ASSERT_TRUE(live.until([&] { return status != 0; }));
  EXPECT_EQ(status, 200);
  agent.ticket = again.body.at("ticket").get<std::string>();
  EXPECT_TRUE(agent.sync_once().body.contains("session"));
}

TEST_F(SyncInProgress, OneThatCouldNotBeWrittenIsOver) {
  LiveApi live(store, policies::standard_policies());
  FakeAgent agent(live, "n1");
  agent.token = token_;
  const Answer asked = agent.sync_once();
  ASSERT_EQ(asked.status, 200) << asked.response.body;
  store.set_full(true);
  agent.ticket = asked.body.at("ticket").get<std::string>();
  EXPECT_EQ(agent.sync_once().code(), "disk_full");
  agent.ticket.clear();
  const Answer again = agent.sync_once();
  ASSERT_EQ(again.status, 200) << again.response.body;
  EXPECT_GT(again.body.value("waits_us", 0LL), 0) << "the node is still awaited";
}

}  // namespace
}  // namespace dove::server
