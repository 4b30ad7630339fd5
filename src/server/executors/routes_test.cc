#include "server/executors/routes.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

namespace dove::server {
namespace {

using Json = nlohmann::json;

std::vector<Route> routes(const Json& given) { return read_routes(given).value(); }

JobSpec job(const std::string& user, const std::string& queue = "default") {
  JobSpec spec;
  spec.user = user;
  spec.queue = queue;
  return spec;
}

// How many of 1000 turns in steps of `step` go where.
std::map<std::string, int> counts(const std::vector<Route>& routes, const JobSpec& spec,
                                  std::uint64_t step = 1) {
  std::map<std::string, int> found;
  for (std::uint64_t i = 0; i < 1000; ++i) ++found[route(routes, spec, i * step)];
  return found;
}

TEST(Routes, SharesAreKeptWhateverTheRhythmOfTheJobs) {
  const auto shared = routes({{"slurm", 30}, {"other", 20}});
  for (const std::uint64_t step : {1, 2, 7, 100}) {
    auto found = counts(shared, job("ada"), step);
    EXPECT_NEAR(found["slurm"], 300, 45) << step;
    EXPECT_NEAR(found["other"], 200, 45) << step;
    EXPECT_NEAR(found[""], 500, 50) << step;
  }
  EXPECT_EQ(counts(routes({{"slurm", 0}}), job("ada")).at(""), 1000);
  EXPECT_EQ(counts(routes({{"slurm", 100}}), job("ada")).at("slurm"), 1000);
}

TEST(Routes, AreForProjectsAndPools) {
  const auto some = routes({{"slurm", {{"projects", {"vision"}}, {"pools", {"a100", "h200"}}}}});
  JobSpec spec = job("ada");
  spec.pool = "h200";
  EXPECT_EQ(route(some, spec, 1), "");
  spec.project = "vision";
  EXPECT_EQ(route(some, spec, 1), "slurm");
  spec.pool = "default";
  EXPECT_EQ(route(some, spec, 1), "");
}

TEST(Routes, AreForUsersAndQueues) {
  const auto some = routes({{"slurm", {{"users", {"ada"}}, {"queues", {"night", "day"}}}}});
  EXPECT_EQ(route(some, job("ada", "day"), 1), "slurm");
  EXPECT_EQ(route(some, job("ada"), 1), "");
  EXPECT_EQ(route(some, job("eve", "day"), 1), "");
}

TEST(Routes, WhatIsWrongIsNamed) {
  const auto field = [](const Json& given) { return read_routes(given).error().field; };
  EXPECT_EQ(field(Json::object()), "executor");
  EXPECT_EQ(field({{"slurm", 60}, {"other", 50}}), "executor");
  EXPECT_EQ(field({{"slurm", 101}}), "executor.slurm.percent");
  EXPECT_EQ(field({{"slurm", {{"user", "ada"}}}}), "executor.slurm.user");
}

}  // namespace
}  // namespace dove::server
