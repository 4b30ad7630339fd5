// Output of a job that an executor runs: what readers get, and what its adapter is asked for.
#include "server/executors/output_reads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/executors/executors_fixture.h"

namespace dove::server {
namespace {

class OutputReadsTest : public ExecutorsTest {
 protected:
  void SetUp() override {
    ExecutorsTest::SetUp();
    ASSERT_LT(live.call("PUT", "/v1/objects/executor/slurm",
                        {{"service_account", "slurm-1"},
                         {"nodes", {"n[1-2]"}},
                         {"placeholders", false},
                         {"runs_jobs", true}})
                  .status,
              300);
    sync(said());
  }
  std::uint64_t running_job(Json more = Json::object()) {
    Json body = small_job_body();
    body["executor"] = "slurm";
    body["workdir"] = "runs";
    body.update(more);
    const std::uint64_t job = live.submit(body);
    sync(said(holding(job, "confirmed")));
    tell(job, "running");
    EXPECT_EQ(attempt_of(job).at("stage"), "running");
    return job;
  }
  void tell(std::uint64_t job, const char* state) {
    Json all = holding(job, "confirmed");
    Json exits = Json::array();
    if (std::string(state) == "ended") exits = {{{"rank", 0}, {"exit_code", 0}}};
    all["works"] = {
        {{"job", job}, {"attempt", 1}, {"node", "n1"}, {"state", state}, {"exits", exits}}};
    sync(said(all));
  }
  // A call that is not waited for.
  std::shared_ptr<std::optional<wire::Response>> ask(const char* method, const std::string& target,
                                                     const std::string& token,
                                                     const std::string& body = "") {
    wire::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.headers = {{"Authorization", "Bearer " + token},
                       {"Content-Type", "application/octet-stream"}};
    auto& client = clients.emplace_back(
        std::make_unique<wire::AsyncClient>(live.loop, "127.0.0.1", live.api->port()));
    const auto answer = std::make_shared<std::optional<wire::Response>>();
    client->call(std::move(request), [answer](Result<wire::Response> response) {
      *answer = response.ok() ? std::move(*response) : wire::Response{0, {}, ""};
    });
    return answer;
  }
  auto read(std::uint64_t job, const std::string& query = "") {
    return ask("GET", "/v1/jobs/" + std::to_string(job) + "/logs" + query, live.admin_token);
  }
  // As the adapter: brings a part, and is answered with the next one.
  Json exchange(const std::string& query = "wait_s=20", const std::string& body = "") {
    const auto answer = ask("POST", "/v1/executors/slurm/output?" + query, account, body);
    EXPECT_TRUE(live.until([&] { return answer->has_value(); }));
    EXPECT_EQ((*answer)->status, 200) << (*answer)->body;
    return (*answer)->status == 200 ? Json::parse((*answer)->body).at("read") : Json();
  }
  static std::string named(const Json& part, const char* more) {
    return "part=" + part.at("part").get<std::string>() + more;
  }

  std::vector<std::unique_ptr<wire::AsyncClient>> clients;
};

TEST_F(OutputReadsTest, TheAdapterReadsTheFileAsItsUserPartByPart) {
  const std::uint64_t job = running_job({{"stdout_path", "out-%j.%t"}});
  const auto log = read(job, "?offset=3");
  const Json first = exchange();
  EXPECT_EQ(first.at("user"), "admin");
  EXPECT_EQ(first.at("workdir"), "runs");
  EXPECT_EQ(first.at("path"), "out-" + std::to_string(job) + ".0");
  EXPECT_EQ(first.at("offset"), 3);
  const Json second = exchange(named(first, "&offset=3&end=0&wait_s=20"), "one\n");
  EXPECT_EQ(second.at("offset"), 7);
  EXPECT_EQ(exchange(named(second, "&offset=7&end=1"), std::string("\xff two", 5)), nullptr);
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->status, 200);
  EXPECT_EQ((*log)->body, "one\n\xff two");
}

TEST_F(OutputReadsTest, AFollowerHearsWhatComesUntilTheAttemptHasEnded) {
  const std::uint64_t job = running_job();
  const auto log = read(job, "?follow=1");
  Json part = exchange();
  EXPECT_EQ(part.at("path"), "dove-" + std::to_string(job) + ".out");
  // It is not there yet.
  part = exchange(named(part, "&error=no_output_file&wait_s=20"), "there is none");
  part = exchange(named(part, "&offset=0&end=1&wait_s=20"), "one\n");
  EXPECT_EQ(part.at("offset"), 4);
  tell(job, "ended");
  EXPECT_FALSE(log->has_value());
  // That part was asked for before the end: there may be more.
  part = exchange(named(part, "&offset=4&end=1&wait_s=20"), "");
  exchange(named(part, "&offset=4&end=1"), "two\n");
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->body, "one\ntwo\n");
}

TEST_F(OutputReadsTest, TheLastLinesAreThoseBeforeTheEnd) {
  const std::uint64_t job = running_job();
  const auto log = read(job, "?tail=2");
  const Json part = exchange();
  EXPECT_EQ(part.at("offset"), -OutputReads::kTailBytes);
  exchange(named(part, "&offset=50&end=1"), "f one\ntwo\nthree\n");
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->body, "two\nthree\n");
}

TEST_F(OutputReadsTest, AFileThatIsNotThereIsSaidWithItsNode) {
  const auto log = read(running_job());
  exchange(named(exchange(), "&error=no_output_file"), "there is no file /home/a/x on head");
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->status, 409);
  const Json problem = Json::parse((*log)->body);
  EXPECT_EQ(problem.at("code"), "no_output_file");
  const std::string why = problem.at("detail");
  EXPECT_NE(why.find("/home/a/x on head"), std::string::npos) << why;
  EXPECT_NE(why.find("node n1"), std::string::npos) << why;
}

TEST_F(OutputReadsTest, ErrorsOfTheirOwnFileAndOnesBesideTheOutput) {
  const auto apart = read(running_job(), "?stream=stderr&apart=1");
  ASSERT_TRUE(live.until([&] { return apart->has_value(); }));
  EXPECT_EQ((*apart)->status, 200);
  EXPECT_EQ((*apart)->body, "");
  const std::uint64_t job = running_job({{"stderr_path", "/tmp/wrong"}});
  const auto log = read(job, "?stream=stderr&apart=1");
  EXPECT_EQ(exchange().at("path"), "/tmp/wrong");
}

TEST_F(OutputReadsTest, NobodyElseSendsPartsAndAPartIsSentOnce) {
  const std::uint64_t job = running_job();
  const auto log = read(job);
  const Json part = exchange();
  const std::string as_it = "/v1/executors/slurm/output?" + named(part, "&end=1");
  const auto foreign = ask("POST", as_it, stranger, "forged");
  ASSERT_TRUE(live.until([&] { return foreign->has_value(); }));
  EXPECT_EQ((*foreign)->status, 403);
  EXPECT_EQ(exchange("part=guessed&end=1", "forged"), nullptr);
  EXPECT_FALSE(log->has_value());
  EXPECT_EQ(exchange(named(part, "&end=1"), "true"), nullptr);
  EXPECT_EQ(exchange(named(part, "&end=1"), "again"), nullptr);
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->body, "true");
}

TEST_F(OutputReadsTest, WhatIsWrittenFasterThanItIsReadHasAnEnd) {
  const auto log = read(running_job());
  const Json second = exchange(named(exchange(), "&offset=0&size=5&end=0&wait_s=20"), "one\n");
  EXPECT_EQ(second.at("offset"), 4);
  EXPECT_EQ(exchange(named(second, "&offset=4&size=99&end=0&wait_s=0"), "two\n"), nullptr);
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->status, 200);
  EXPECT_EQ((*log)->body, "one\ntwo\n");
}

TEST_F(OutputReadsTest, AFileThatWasTruncatedIsNotReadOn) {
  const std::uint64_t job = running_job();
  const auto log = read(job, "?follow=1");
  const Json second = exchange(named(exchange(), "&offset=0&size=4&end=1&wait_s=20"), "one\n");
  EXPECT_EQ(exchange(named(second, "&offset=4&size=2&end=1&wait_s=0")), nullptr);
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->status, 0) << "it breaks off";
  const auto later = read(job, "?offset=4");
  EXPECT_EQ(exchange(named(exchange(), "&offset=4&size=2&end=1&wait_s=0")), nullptr);
  ASSERT_TRUE(live.until([&] { return later->has_value(); }));
  EXPECT_EQ((*later)->status, 409);
  EXPECT_EQ(Json::parse((*later)->body).at("code"), "output_truncated");
}

TEST_F(OutputReadsTest, AnEarlierAttemptHasNoFileOfItsOwn) {
  const std::uint64_t job = running_job();
  const std::string target = "/v1/jobs/" + std::to_string(job);
  ASSERT_LT(live.call("POST", target + "/requeue", Json::object()).status, 300);
  tell(job, "ended");
  ASSERT_TRUE(live.until([&] {
    sync(said());
    return live.call("GET", target).body.at("attempts").size() == 2;
  }));
  const auto log = read(job, "?attempt=1");
  ASSERT_TRUE(live.until([&] { return log->has_value(); }));
  EXPECT_EQ((*log)->status, 409) << (*log)->body;
  EXPECT_EQ(Json::parse((*log)->body).at("code"), "earlier_attempt");
}

TEST_F(OutputReadsTest, OneCallerLeavesReadersToOthers) {
  const std::uint64_t job = running_job();
  std::vector<std::shared_ptr<std::optional<wire::Response>>> logs;
  for (std::ptrdiff_t i = 0; i <= OutputReads::kOfCallerMax; ++i) logs.push_back(read(job));
  const auto refused = [&] {
    return std::count_if(logs.begin(), logs.end(), [](const auto& log) {
      return log->has_value() && (*log)->status == 503 &&
             (*log)->body.find("too_many_readers") != std::string::npos;
    });
  };
  EXPECT_TRUE(live.until([&] { return refused() == 1; }));
}

TEST_F(OutputReadsTest, NobodyReadsTheOutputOfAnothersJob) {
  const std::uint64_t job = running_job();
  const auto other = ask("GET", "/v1/jobs/" + std::to_string(job) + "/logs", stranger);
  ASSERT_TRUE(live.until([&] { return other->has_value(); }));
  EXPECT_GE((*other)->status, 400) << "ada's token reads admin's output";
  EXPECT_EQ(exchange("wait_s=0"), nullptr);
}

}  // namespace
}  // namespace dove::server
