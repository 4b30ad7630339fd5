#include "slurm/gate/gate_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::slurm {
namespace {

using nlohmann::json;

// What the controller is told of the job.
json told(const GateSeen& gate) {
  JobSeen job;
  job.id = 5;
  job.user = "ann";
  job.gate = gate;
  GateRequest request;
  request.jobs = {&job};
  NodeSeen node;
  node.name = "n1";
  return json::parse(write_gate_request(request, {node})).at("jobs").at(0);
}

TEST(GateJson, FeaturesAreWishes) {
  GateSeen gate;
  EXPECT_EQ(told(gate).at("features"), json::array());
  gate.features = "ib&(a100|h100)";
  EXPECT_EQ(told(gate).at("features"), json({"ib", "a100|h100"}));
}

TEST(GateJson, LicencesAreCountablesOfTheCluster) {
  GateSeen gate;
  EXPECT_FALSE(told(gate).contains("cluster_requests")) << "older controllers know no such field";
  gate.licences = {{"Matlab", 1}, {"matlab", 2}, {"ansys", 1}};
  EXPECT_EQ(told(gate).at("cluster_requests"), json({{"licence:ansys", 1}, {"licence:matlab", 3}}));
}

}  // namespace
}  // namespace dove::slurm
