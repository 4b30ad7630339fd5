#include "agent/devices/direct_storage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace dove::agent {
namespace {

class DirectStorage : public testing::Test {
 protected:
  DirectStorage() {
    for (const char* name : {"ib0", "ib1", "ib2"}) {
      devices::Card card;
      card.name = "mlx5_" + std::to_string(fabric_.cards.size());
      card.is_active = std::string(name) != "ib2";
      card.interfaces = {name};
      fabric_.cards.push_back(card);
    }
    fabric_.storage_files = {"/dev/nvidia-fs0", "/dev/nvidia-fs1"};
  }
  std::string config() const {
    return cufile_config(fabric_, planes_, [](const std::string& interface) {
      return std::vector<std::string>{"10.0.0." + interface.substr(2)};
    });
  }
  static std::string listing(const std::string& addresses) {
    return "{\"properties\":{\"rdma_dev_addr_list\":[" + addresses + "]}}\n";
  }

  devices::Fabric fabric_;
  Planes planes_;
};

TEST_F(DirectStorage, ListsTheAddressesOfActiveCardsForStorage) {
  EXPECT_EQ(config(), listing(R"("10.0.0.0","10.0.0.1")"));
  planes_.gpu = {"ib0"};
  EXPECT_EQ(config(), listing(R"("10.0.0.1")"));
  planes_.storage = {"mlx5_0"};
  EXPECT_EQ(config(), listing(R"("10.0.0.0")"));
  planes_.storage = {"ib2"};
  EXPECT_EQ(config(), "") << "it is down";
}

TEST_F(DirectStorage, IsNotThereWithoutItsDriver) {
  fabric_.storage_files.clear();
  EXPECT_EQ(config(), "");
  TaskPlan plan;
  use_direct_storage(fabric_, "", plan);
  EXPECT_TRUE(plan.device_nodes.empty());
  EXPECT_TRUE(plan.environment.empty());
}

TEST_F(DirectStorage, ShowsATaskTheFilesAndTheConfiguration) {
  TaskPlan plan;
  use_direct_storage(fabric_, "/data/cufile.json", plan);
  EXPECT_EQ(plan.device_nodes, fabric_.storage_files);
  EXPECT_EQ(plan.environment.at("CUFILE_ENV_PATH_JSON"), "/data/cufile.json");
  TaskPlan contained;
  contained.container.image = "cuda";
  use_direct_storage(fabric_, "/data/cufile.json", contained);
  ASSERT_EQ(contained.shared.size(), 1u);
  EXPECT_EQ(contained.shared[0].source, "/data/cufile.json");
  EXPECT_EQ(contained.environment.at("CUFILE_ENV_PATH_JSON"), contained.shared[0].target);
  TaskPlan own;
  own.environment["CUFILE_ENV_PATH_JSON"] = "/mine.json";
  use_direct_storage(fabric_, "/data/cufile.json", own);
  EXPECT_EQ(own.environment.at("CUFILE_ENV_PATH_JSON"), "/mine.json");
}

TEST_F(DirectStorage, WritesTheFileAndTakesItAway) {
  const std::string path = testing::TempDir() + "/cufile-" + std::to_string(::getpid());
  EXPECT_EQ(write_cufile_config(path, "{}\n").value(), path);
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  EXPECT_EQ(line, "{}");
  EXPECT_EQ(write_cufile_config(path, "").value(), "");
  EXPECT_FALSE(std::ifstream(path).good());
  EXPECT_FALSE(write_cufile_config("/nowhere/at/all", "{}").ok());
}

TEST_F(DirectStorage, ReadsTheMachinesAddresses) {
  EXPECT_EQ(addresses_of("lo"), (std::vector<std::string>{"127.0.0.1"}));
  EXPECT_TRUE(addresses_of("no-such-interface").empty());
}

}  // namespace
}  // namespace dove::agent
