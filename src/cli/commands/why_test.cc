// dove why: the other sets of causes, how many they are, and whether they are all.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"

namespace dove::cli {
namespace {

using nlohmann::json;

class WhyTest : public CliTest {
 protected:
  // What `dove why 7` prints below the cause that it names.
  std::string below_the_cause(const std::vector<std::string>& sets, bool all) {
    json others{{"sets", json::array()}, {"all", all}};
    for (const std::string& text : sets) {
      others["sets"].push_back({{"text", text}, {"causes", json::array()}});
    }
    server_.set("GET /v1/jobs/7", {200, json{{"id", 7}, {"state", "waiting"}}.dump()});
    server_.set("GET /v1/jobs/7/why",
                {200, json{{"reasons", {{{"kind", "resources"}, {"text", "needs 2 GPUs"}}}},
                           {"others", others}}
                          .dump()});
    const std::string out = run({"dove", "why", "7"}).out;
    const std::string head = "Job 7 is waiting because:\n  - needs 2 GPUs\n";
    EXPECT_TRUE(out.starts_with(head)) << out;
    return out.substr(std::min(out.size(), head.size()));
  }
};

TEST_F(WhyTest, OtherSetsAreCounted) {
  EXPECT_EQ(below_the_cause({}, true), "");
  EXPECT_EQ(below_the_cause({"all nodes were available"}, true),
            "1 other set would do. It would also have places if\n"
            "  - all nodes were available\n");
  EXPECT_EQ(below_the_cause({"all nodes were available", "other jobs held no gpus"}, true),
            "2 other sets would do. It would also have places if\n"
            "  - all nodes were available\n"
            "  - other jobs held no gpus\n");
}

TEST_F(WhyTest, AListThatMayNotBeCompleteSaysSo) {
  EXPECT_EQ(below_the_cause({"all nodes were available"}, false),
            "1 other set would do. It would also have places if\n"
            "  - all nodes were available\n"
            "There may be more sets: not all were tried.\n");
  EXPECT_EQ(below_the_cause({}, false), "There may be other sets: not all were tried.\n");
}

}  // namespace
}  // namespace dove::cli
