// A disk that is slow to read: what waits for it is whoever asked for old records, and nobody else.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

// Reads take long while it is told so.
class SlowStore : public store::MemoryStore {
 public:
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds(15), [this] { return !is_slow_; });
    }
    return MemoryStore::read(after, visit);
  }
  void be_slow(bool slow) {
    {
      const std::lock_guard lock(mutex_);
      is_slow_ = slow;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_slow_ = false;
};

TEST(SlowLog, AHeartbeatDoesNotWaitForAPageOfEvents) {
  SlowStore store;
  {
    LiveApi before(store, policies::standard_policies());
    before.submit(small_job_body());
  }
  // What it has not written itself it reads from the log.
  LiveApi live(store, policies::standard_policies());
  FakeAgent agent(live, "n1");
  agent.connect();
  store.be_slow(true);
  std::optional<Json> page;
  wire::Request request;
  request.method = "GET";
  request.target = "/v1/events?after=0";
  request.headers = {{"Authorization", "Bearer " + live.admin_token}};
  wire::AsyncClient other(live.loop, "127.0.0.1", live.api->port());
  other.call(std::move(request), [&page](const Result<wire::Response>& response) {
    page = response.ok() ? Json::parse(response->body) : Json::object();
  });
  EXPECT_EQ(agent.report(Json::array()).status, 200);
  EXPECT_EQ(live.node_contact("n1"), "connected");
  EXPECT_FALSE(page.has_value()) << "the page is still being read";
  store.be_slow(false);
  ASSERT_TRUE(live.until([&] { return page.has_value(); }));
  EXPECT_NE(page->dump().find("JobSubmitted"), std::string::npos);
}

}  // namespace
}  // namespace dove::server
