// dove ps, nodes, get: what they ask for.
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

TEST_F(PsTest, AsksForJobsThatWereSubmittedInATime) {
  const auto query = asked(
      {"--submitted-from=2026-01-02T03:04:05Z", "--submitted-before", "2026-01-02T03:04:06Z"});
  EXPECT_EQ(values(query, "submitted_from"), (Texts{"1767323045000000"}));
  EXPECT_EQ(values(query, "submitted_before"), (Texts{"1767323046000000"}));
  EXPECT_EQ(values(query, "state"), (Texts{"waiting,held,active"}));
  const Outcome wrong = run({"dove", "ps", "--submitted-before", "yesterday"});
  EXPECT_NE(wrong.err.find("--submitted-before=yesterday"), std::string::npos) << wrong.err;
}

TEST_F(PsTest, EventsAreAskedForByUserAndTimeOnAsManyPagesAsItTakes) {
  server_.set("GET /v1/events", {200, R"({"events":[],"next":7})"});
  const Outcome outcome = run({"dove", "events", "--user=ann", "--from=2026-01-02T03:04:05Z",
                               "--before=2026-01-02T03:04:06Z"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const wire::Pairs query = server_.requests().back().query;
  EXPECT_EQ(values(query, "user"), (Texts{"ann"}));
  EXPECT_EQ(values(query, "from"), (Texts{"1767323045000000"}));
  EXPECT_EQ(values(query, "before"), (Texts{"1767323046000000"}));
  EXPECT_EQ(values(query, "after"), (Texts{"7"})) << "the first page had none";
  const Outcome wrong = run({"dove", "events", "--from", "yesterday"});
  EXPECT_NE(wrong.err.find("--from=yesterday"), std::string::npos) << wrong.err;
}

TEST_F(PsTest, ALimitThatIsNoNumberIsRefused) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"dove", "events", "--limit=ten"},
        {"dove", "events", "--limit=0"},
        {"dove", "audit", "--limit", "5x"},
        {"dove", "events", "--limit=99999999999999999999"},
        {"dove", "ps", "--limit=-1"}}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.code, kExitUsage) << command.back();
    EXPECT_NE(outcome.err.find("--limit takes a number from"), std::string::npos) << outcome.err;
  }
  const Outcome both = run({"dove", "events", "-f", "--limit=5"});
  EXPECT_EQ(both.code, kExitUsage);
  EXPECT_NE(both.err.find("--follow and --limit exclude each other"), std::string::npos);
}

TEST_F(PsTest, OtherListsAreFilteredByLabelsToo) {
  const std::string labels = "&labels=team%3Dvision&labels=why%3Da%20%26%20b";
  const std::vector<std::string> options = {"--labels", "team=vision", "--labels=why=a & b"};
  const auto asked = [&](std::vector<std::string> command) {
    command.insert(command.end(), options.begin(), options.end());
    const Outcome outcome = run(std::move(command));
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return server_.requests().back().target;
  };
  server_.set("GET /v1/objects", {200, R"({"objects":[{"kind":"Pool","name":"gpu"}]})"});
  EXPECT_EQ(asked({"dove", "get", "pools"}), "/v1/objects?kind=Pool" + labels);
  server_.set("GET /v1/nodes", {200, R"({"nodes":[{"name":"n2","labels":{"team":"vision"}}]})"});
  EXPECT_EQ(asked({"dove", "nodes"}), "/v1/nodes?limit=1000" + labels);
  EXPECT_EQ(asked({"dove", "nodes", "n[1-2]"}), "/v1/nodes?limit=1000" + labels + "&name=n1%2Cn2");
  const Outcome shown = run({"dove", "nodes", "n2", "--labels", "team=vision"});
  EXPECT_NE(shown.out.find("Labels    team=vision\n"), std::string::npos) << shown.out;
  server_.set("GET /v1/nodes", {200, R"({"nodes":[]})"});
  EXPECT_EQ(run({"dove", "nodes", "--labels", "team=speech"}).err,
            "dove: no node has these labels\n");
}

}  // namespace
}  // namespace dove::cli
