// dove use.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

json line(const json& mean) { return {{"mean", mean}, {"least", mean}}; }

TEST_F(CliTest, UseShowsTheCourseAndTheNodesThatDoLeast) {
  server_.set("GET /v1/jobs/7", {200, json{{"id", 7}, {"state", "running"}}.dump()});
  json use{{"job", 7},
           {"begin", "2026-11-26T10:00:00Z"},
           {"step_s", 10.0},
           {"gpu", line({0.0, 50.0, nullptr, 100.0})},
           {"gpu_memory", line({nullptr, nullptr, nullptr, nullptr})},
           {"cpu", line({3.0, 3.0, 3.0, 3.0})},
           {"nodes",
            {{{"node", "n2"},
              {"gpu", 12.4},
              {"gpu_memory", nullptr},
              {"cpu", 3.0},
              {"devices", {{{"device", 0}, {"gpu", 12.4}}, {{"device", 3}, {"gpu", 0.0}}}}},
             {{"node", "n1"},
              {"gpu", 100.0},
              {"gpu_memory", nullptr},
              {"cpu", 3.0},
              {"devices", {{{"device", 0}, {"gpu", 100.0}}}}}}}};
  server_.set("GET /v1/jobs/7/use", {200, use.dump()});
  EXPECT_EQ(run({"dove", "use", "7"}).out,
            "Job 7 uses, of what it holds (the last 40s):\n"
            "  GPU         100 %  ▁▅·█\n"
            "  CPU           3 %  ▁▁▁▁\n"
            "The nodes that do least:\n"
            "  n2: GPU 12 %, GPU memory -, CPU 3 %\n"
            "    GPUs: 0: 12 %, 3: 0 %\n"
            "  n1: GPU 100 %, GPU memory -, CPU 3 %\n");
  EXPECT_EQ(json::parse(run({"dove", "use", "7", "-o", "json"}).out), use);
  use["last_input"] = "2026-11-26T10:00:30Z";
  server_.set("GET /v1/jobs/7/use", {200, use.dump()});
  const std::string used =
      "  CPU           3 %  ▁▁▁▁\nIt was last used at " + zoned_text(1795687230'000'000);
  EXPECT_NE(run({"dove", "use", "7"}).out.find(used), std::string::npos);
  use["last_input"] = nullptr;
  use["nodes"].erase(1);
  server_.set("GET /v1/jobs/7/use", {200, use.dump()});
  const std::string one_node = run({"dove", "use", "7"}).out;
  EXPECT_NE(one_node.find("Its GPUs: 0: 12 %, 3: 0 %\n"), std::string::npos) << one_node;
  use["nodes"][0].erase("devices");  // as an older server answers
  server_.set("GET /v1/jobs/7/use", {200, use.dump()});
  EXPECT_EQ(run({"dove", "use", "7"}).out.find("GPUs"), std::string::npos);
  use["begin"] = nullptr;
  server_.set("GET /v1/jobs/7/use", {200, use.dump()});
  EXPECT_EQ(run({"dove", "use", "7"}).out,
            "Job 7 is running; its nodes have not reported its use yet.\n");
  const json over{{"id", 7}, {"state", "completed"}, {"phase", "ended"}};
  server_.set("GET /v1/jobs/7", {200, over.dump()});
  EXPECT_EQ(run({"dove", "use", "7"}).out,
            "Job 7 is completed; what it used is no longer known.\n");
  use["begin"] = "2026-11-26T10:00:00Z";
  use["nodes"] = json::array();
  server_.set("GET /v1/jobs/7/use", {200, use.dump()});
  EXPECT_EQ(run({"dove", "use", "7"}).out,
            "Job 7 used, of what it held (over 40s):\n"
            "  GPU         100 %  ▁▅·█\n"
            "  CPU           3 %  ▁▁▁▁\n");
}

}  // namespace
}  // namespace dove::cli
