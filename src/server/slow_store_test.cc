// A store whose disk takes its time: whoever needs nothing of it does not wait.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class SlowStore : public store::MemoryStore {
 public:
  void hang(bool hangs) {
    {
      const std::lock_guard lock(mutex_);
      hangs_ = hangs;
    }
    changed_.notify_all();
  }
  Result<std::optional<std::string>> blob(const std::string& sha256) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !hangs_; });
    return MemoryStore::blob(sha256);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
};

TEST(SlowStore, HoldsUpNobodyElse) {
  SlowStore store;
  std::uint64_t job = 0;
  {
    LiveApi before(store, policies::standard_policies());
    job = before.submit(small_job_body());
  }
  LiveOptions options;
  options.reads_aside = true;
  LiveApi live(store, policies::standard_policies(), std::move(options));
  store.hang(true);
  wire::AsyncClient other(live.loop, "127.0.0.1", live.api->port());
  wire::Request request;
  request.method = "GET";
  request.target = "/v1/jobs/" + std::to_string(job);  // tells what it runs
  request.headers = {{"Authorization", "Bearer " + live.admin_token}};
  int status = 0;
  other.call(std::move(request), [&](const Result<wire::Response>& answer) {
    status = answer.ok() ? answer->status : -1;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(live.call("GET", "/v1/nodes").status, 200);
  EXPECT_EQ(status, 0);
  store.hang(false);
  ASSERT_TRUE(live.until([&] { return status != 0; }));
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace dove::server
