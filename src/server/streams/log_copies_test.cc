// What followers of the log read, and who may.
#include "server/streams/log_copies.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "codec/bytes.h"
#include "server/api_fixture.h"

namespace dove::server {
namespace {

// Gives out what it was asked for instead of bytes.
struct FakeSource : store::MemoryStore, store::LogSource {
  Result<std::string> page(Seq after, Epoch term, std::size_t) override {
    return fmt::format("page {} {}", after.value, term.value);
  }
  Result<std::string> snapshot_piece(Seq of, std::uint64_t offset, std::size_t) override {
    if (of.value == 9) return Error{ErrorKind::kNotFound, "snapshot_gone", "it is gone", ""};
    return fmt::format("piece {} {}", of.value, offset);
  }
};

struct LogCopiesTest : testing::Test {
  FakeSource store;
  LiveApi live{store, policies::standard_policies()};

  Answer get(const std::string& target) { return live.call("GET", "/v1/log" + target); }
};

TEST_F(LogCopiesTest, BytesGoOutAsTheyAre) {
  const Answer page = get("?after=3&term=2");
  EXPECT_EQ(page.response.body, "page 3 2");
  EXPECT_EQ(page.response.header("Dove-Cluster").size(), 12u);
  EXPECT_EQ(get("/snapshot?seq=4&offset=5").response.body, "piece 4 5");
  EXPECT_EQ(get("/snapshot?seq=9").code(), "snapshot_gone");
  EXPECT_EQ(get("?after=-1").code(), "bad_parameter");
}

TEST_F(LogCopiesTest, BlobsComeByDigest) {
  live.submit(small_job_body());
  std::string digest;
  ASSERT_TRUE(store
                  .read(Seq(),
                        [&](const store::Batch& batch) {
                          for (const StampedEvent& each : batch.events) {
                            const auto* job = std::get_if<JobSubmitted>(&each.event);
                            if (job != nullptr) digest = job->spec->exec_digest;
                          }
                          return true;
                        })
                  .ok());
  const std::string none(64, '0');
  const Answer answer = get("/blobs?sha256=" + digest + "," + none);
  std::map<std::string, std::string> found;
  codec::ByteReader ar(answer.response.body);
  ar(found);
  EXPECT_FALSE(ar.failed());
  EXPECT_EQ(found.at(digest), store.blob(digest)->value());
  EXPECT_EQ(found.at(none), "");
  EXPECT_EQ(get("/blobs?sha256=short").code(), "bad_parameter");
  EXPECT_EQ(get("/blobs").code(), "bad_parameter");
}

TEST_F(LogCopiesTest, ItIsForAdministratorsAndTheSmallestKeyWillDo) {
  const std::string user = live.call("POST", "/v1/users/ada/token?create=1").body.at("token");
  EXPECT_EQ(live.call("GET", "/v1/log", nullptr, {}, &user).code(), "admin_only");
  const std::string nobody;
  EXPECT_EQ(live.call("GET", "/v1/log", nullptr, {}, &nobody).status, 401);
  live.call("POST", "/v1/users/copier/token?create=1");
  live.call("PUT", "/v1/objects/user/copier", {{"admin", true}});
  const auto status = [&](const char* scope) {
    const Json wanted{{"name", scope}, {"scope", scope}, {"user", "copier"}};
    const std::string key = live.call("POST", "/v1/keys", wanted).body.at("key");
    return live.call("GET", "/v1/log", nullptr, {}, &key).status;
  };
  EXPECT_EQ(status("log"), 200);
  EXPECT_EQ(status("jobs"), 403) << "it holds hashes of tokens and passwords";
}

TEST_F(LogCopiesTest, SomeWaitForWhatComesAndNoMore) {
  const auto head = live.call("GET", "/v1/cluster").body.at("log_head").get<std::uint64_t>();
  std::vector<std::unique_ptr<wire::AsyncClient>> clients;
  std::vector<int> answers;
  for (long i = 0; i <= LogCopies::kCallsMax; ++i) {  // one more than may
    clients.push_back(
        std::make_unique<wire::AsyncClient>(live.loop, "127.0.0.1", live.api->port()));
    wire::Request request;
    request.method = "GET";
    request.target = fmt::format("/v1/log?after={0}&since={0}", head);
    request.headers = {{"Authorization", "Bearer " + live.admin_token}};
    clients.back()->call(std::move(request), [&](const Result<wire::Response>& answer) {
      answers.push_back(answer.ok() ? answer->status : 0);
    });
  }
  ASSERT_TRUE(live.until([&] { return !answers.empty(); }));
  EXPECT_EQ(answers, std::vector<int>{503});
  EXPECT_EQ(get("").code(), "too_many_followers");
  live.submit(small_job_body());
  ASSERT_TRUE(live.until([&] { return answers.size() == clients.size(); }));
  std::vector<int> wanted(clients.size(), 200);
  wanted.front() = 503;
  EXPECT_EQ(answers, wanted);
  EXPECT_EQ(get("").status, 200);
}

TEST_F(WithApi, ALogElsewhereIsNotFollowed) {
  EXPECT_EQ(live.call("GET", "/v1/log").code(), "shared_log");
}

}  // namespace
}  // namespace dove::server
