#include "containers/bundle.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::containers {
namespace {

using Json = nlohmann::json;

Bundle small() {
  Bundle bundle;
  bundle.argv = {"/bin/true"};
  bundle.root = "/run/dove/root";
  bundle.uids = bundle.gids = map_ids({});
  bundle.cgroup = "dove-n1/7.1/task";
  return bundle;
}

TEST(BundleTest, TheTaskHasNoRightsOverTheMachine) {
  const Json config = Json::parse(config_json(small()));
  const Json& process = config.at("process");
  EXPECT_TRUE(process.at("noNewPrivileges").get<bool>());
  for (const auto& [set, names] : process.at("capabilities").items()) {
    for (const Json& name : names) {
      EXPECT_NE(name, "CAP_SYS_ADMIN") << set;
      EXPECT_NE(name, "CAP_NET_RAW") << set;
      EXPECT_NE(name, "CAP_MKNOD") << set;
    }
  }
  EXPECT_FALSE(process.at("capabilities").contains("ambient"));
  EXPECT_EQ(config.at("linux").at("uidMappings")[0].at("hostID"), kIdBase);
  std::vector<std::string> kinds;
  for (const Json& one : config.at("linux").at("namespaces")) kinds.push_back(one.at("type"));
  EXPECT_EQ(kinds, (std::vector<std::string>{"pid", "ipc", "uts", "mount", "user", "cgroup"}));
}

TEST(BundleTest, DevicesAreThoseOfTheAllocation) {
  Bundle bundle = small();
  bundle.devices = {"/dev/null", "/dev/no-such-device", "/etc/hosts"};
  const Json linux_part = Json::parse(config_json(bundle)).at("linux");
  ASSERT_EQ(linux_part.at("devices").size(), 1u);
  EXPECT_EQ(linux_part.at("devices")[0].at("path"), "/dev/null");
  const Json& rules = linux_part.at("resources").at("devices");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_FALSE(rules[0].at("allow").get<bool>());
  EXPECT_FALSE(rules[0].contains("major")) << "all are refused first";
  EXPECT_EQ(rules[1].at("major"), 1);
  EXPECT_EQ(rules[1].at("minor"), 3);
}

TEST(BundleTest, HooksOfDevicesAreTheRuntimes) {
  Bundle bundle = small();
  EXPECT_TRUE(Json::parse(config_json(bundle)).at("hooks").empty());
  bundle.hooks = {{"createContainer", "/usr/bin/acme", {"acme", "links"}, {"A=1"}, 5},
                  {"createContainer", "/usr/bin/ldconfig", {}, {}, 0}};
  const Json hooks = Json::parse(config_json(bundle)).at("hooks").at("createContainer");
  ASSERT_EQ(hooks.size(), 2u);
  EXPECT_EQ(hooks[0].at("args")[1], "links");
  EXPECT_EQ(hooks[0].at("timeout"), 5);
  EXPECT_EQ(hooks[1], (Json{{"path", "/usr/bin/ldconfig"}}));
}

TEST(BundleTest, LimitsAreThoseOfTheTask) {
  Bundle bundle = small();
  bundle.memory_bytes = 1 << 30;
  bundle.processes_max = 100;
  bundle.cpus = {2, 3};
  bundle.numa_nodes = {1};
  bundle.shm_bytes = 4096;
  const Json config = Json::parse(config_json(bundle));
  const Json& resources = config.at("linux").at("resources");
  EXPECT_EQ(resources.at("memory").at("limit"), 1 << 30);
  EXPECT_EQ(resources.at("pids").at("limit"), 100);
  EXPECT_EQ(resources.at("cpu").at("cpus"), "2,3");
  EXPECT_EQ(resources.at("cpu").at("mems"), "1");
  bool sized = false;
  for (const Json& mount : config.at("mounts")) {
    if (mount.at("destination") != "/dev/shm") continue;
    for (const Json& option : mount.at("options")) sized = sized || option == "size=4096";
  }
  EXPECT_TRUE(sized);
}

}  // namespace
}  // namespace dove::containers
