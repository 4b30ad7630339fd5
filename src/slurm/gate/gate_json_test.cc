#include "slurm/gate/gate_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::slurm {
namespace {

using nlohmann::json;

// What the controller hears about the job, which is for `partition` where there are several nodes.
json told(const GateSeen& gate, const std::vector<NodeSeen>& nodes = std::vector<NodeSeen>(1),
          const std::string& partition = "") {
  JobSeen job;
  job.partition = partition;
  job.id = 5;
  job.user = "ann";
  job.gate = gate;
  GateRequest request;
  request.jobs = {&job};
  return json::parse(write_gate_request(request, nodes)).at("jobs").at(0);
}

TEST(GateJson, FeaturesAreWishes) {
  GateSeen gate;
  EXPECT_EQ(told(gate).at("features"), json::array());
  gate.features = "ib&(a100|h100)";
  EXPECT_EQ(told(gate).at("features"), json({"ib", "a100|h100"}));
  gate.features = "[rack1|rack2]&ib";
  EXPECT_EQ(told(gate).at("features"), json({"[rack1|rack2]", "ib"}));
}

TEST(GateJson, ThatTheyAskForRoomAloneIsSaidWhereTheyDo) {
  GateRequest request;
  EXPECT_FALSE(json::parse(write_gate_request(request, {})).contains("room"));
  request.room = true;
  EXPECT_EQ(json::parse(write_gate_request(request, {})).at("room"), true);
}

TEST(GateJson, LicencesAreCountablesOfTheCluster) {
  GateSeen gate;
  EXPECT_FALSE(told(gate).contains("cluster_requests")) << "older controllers know no such field";
  gate.licences = {{"Matlab", 1}, {"matlab", 2}, {"ansys", 1}};
  EXPECT_EQ(told(gate).at("cluster_requests"), json({{"licence:ansys", 1}, {"licence:matlab", 3}}));
}

TEST(GateJson, CoresAreThoseOfThePartitionsNodes) {
  std::vector<NodeSeen> nodes(3);
  for (int i = 0; i < 3; ++i) {
    NodeSeen& node = nodes.at(static_cast<std::size_t>(i));
    node.name = "n" + std::to_string(i);
    node.cpus_per_core = i == 0 ? 1 : 2 * i;
    node.partitions = {i == 0 ? "plain" : "threads"};
  }
  GateSeen gate;
  gate.cpus = 8;
  EXPECT_EQ(told(gate, nodes, "plain").at("cores"), 8);
  EXPECT_EQ(told(gate, nodes, "plain").at("nodes_wanted"), json({"n0"}));
  EXPECT_EQ(told(gate, nodes, "threads").at("cores"), 4) << "enough on either";
  EXPECT_EQ(told(gate, nodes, "plain,threads").at("cores"), 8);
  EXPECT_EQ(told(gate, nodes, "plain,threads").at("nodes_wanted"), json::array());
  gate.nodes_wanted = "n2";
  EXPECT_EQ(told(gate, nodes, "plain,threads").at("cores"), 2) << "that node alone";
  gate.nodes = 2;
  gate.cpus = 16;
  EXPECT_EQ(told(gate, nodes, "plain,threads").at("cores"), 8) << "and another one";
  EXPECT_EQ(told(gate, nodes, "threads").at("cores"), 4) << "of its partition";
  gate.nodes_wanted = "";
  gate.nodes_excluded = "n0";
  EXPECT_EQ(told(gate, nodes, "plain,threads").at("cores"), 4);
}

}  // namespace
}  // namespace dove::slurm
