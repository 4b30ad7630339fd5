// dove usage.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"

namespace dove::cli {
namespace {

using nlohmann::json;

TEST_F(CliTest, UsageListsWhoHeldWhatAndSaysWhatIsMissing) {
  const json rows{{{"name", "ann"}, {"gpu_hours", 12.34}, {"core_hours", 98.0}, {"jobs", 3}},
                  {{"name", ""}, {"gpu_hours", 0.0}, {"core_hours", 0.25}, {"jobs", 1}}};
  json answer{
      {"by", "project"}, {"from_us", 1'000'000}, {"complete_from_us", 500'000}, {"rows", rows}};
  server_.set("GET /v1/usage", {200, answer.dump()});
  Outcome outcome = run({"dove", "usage", "--by=project", "--since=12h"});
  EXPECT_EQ(outcome.out,
            "PROJECT  GPU HOURS  CORE HOURS  JOBS\n"
            "ann           12.3        98.0     3\n"
            "-              0.0         0.2     1\n");
  EXPECT_EQ(outcome.err, "");
  answer["complete_from_us"] = 2'000'000;
  server_.set("GET /v1/usage", {200, answer.dump()});
  outcome = run({"dove", "usage"});
  EXPECT_NE(outcome.err.find("may be missing"), std::string::npos) << outcome.err;
  EXPECT_EQ(run({"dove", "usage", "--since=never"}).code, kExitUsage);
}

}  // namespace
}  // namespace dove::cli
