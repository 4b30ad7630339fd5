// dove ps: which jobs it asks for.
#include "cli/cli_bed_for_test.h"
#include "cli/command.h"
#include "telemetry/clock.h"

namespace dove::cli {
namespace {

class PsTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    server_.set("GET /v1/jobs", {200, R"({"jobs":[],"next":null})"});
  }
  // The query that it has sent.
  wire::Pairs asked(std::vector<std::string> options) {
    options.insert(options.begin(), {"dove", "ps"});
    const Outcome outcome = run(std::move(options));
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return server_.requests().back().query;
  }
  static std::vector<std::string> values(const wire::Pairs& query, const std::string& name) {
    std::vector<std::string> found;
    for (const auto& [own, value] : query) {
      if (own == name) found.push_back(value);
    }
    return found;
  }
  using Texts = std::vector<std::string>;
};

TEST_F(PsTest, AsksForJobsWithAllOfTheLabels) {
  const auto query = asked({"--labels", "team=vision", "--labels=why=a & b"});
  EXPECT_EQ(values(query, "labels"), (Texts{"team=vision", "why=a & b"}));
  EXPECT_EQ(values(query, "state"), (Texts{"waiting,held,active"}));
  server_.set("GET /v1/jobs", {400, R"({"status":400,"title":"Bad Request","code":"bad_parameter",)"
                                    R"("detail":"labels is NAME=VALUE","field":"labels"})"});
  const Outcome wrong = run({"dove", "ps", "--labels", "vision"});
  EXPECT_NE(wrong.code, kExitOk);
  EXPECT_NE(wrong.err.find("labels is NAME=VALUE"), std::string::npos) << wrong.err;
}

TEST_F(PsTest, AsksForJobsThatEndedInATime) {
  const std::int64_t before_us = telemetry::now_us();
  const auto query = asked({"--ended-from", "2h", "--ended-before=2026-01-02T03:04:05Z"});
  EXPECT_EQ(values(query, "ended_before"), (Texts{"1767323045000000"}));
  EXPECT_EQ(values(query, "state"), Texts{}) << "they have ended";
  const Texts from = values(query, "ended_from");
  ASSERT_EQ(from.size(), 1U);
  EXPECT_GE(std::stoll(from[0]), before_us - 7'200'000'000);
  EXPECT_LE(std::stoll(from[0]), telemetry::now_us() - 7'200'000'000);
  const Outcome wrong = run({"dove", "ps", "--ended-from", "yesterday"});
  EXPECT_NE(wrong.code, kExitOk);
  EXPECT_NE(wrong.err.find("--ended-from=yesterday"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace dove::cli
