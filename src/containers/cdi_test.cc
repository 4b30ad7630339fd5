#include "containers/cdi.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::containers {
namespace {

namespace fs = std::filesystem;

constexpr char kYaml[] = R"(cdiVersion: "0.6.0"
kind: acme.com/gpu
containerEdits:
  env: [ACME_DRIVER=7, "EMPTY="]
  hooks:
    - {hookName: createContainer, path: /usr/bin/acme, args: [acme, links], timeout: 5}
devices:
  - name: "0"
    containerEdits:
      deviceNodes: [{path: /dev/acme0, permissions: rw}, {path: /dev/acmectl, major: 1, minor: 3}]
      mounts: [{hostPath: /lib/a.so, containerPath: /usr/lib/a.so, options: [ro, nosuid, rbind]}]
      additionalGids: [44]
  - name: GPU-1
    containerEdits: {deviceNodes: [{path: /dev/acme1}]}
  - name: all
    containerEdits: {deviceNodes: [{path: /dev/acmectl}, {path: /dev/acme0}, {path: /dev/acme1}]}
)";

constexpr char kJson[] = R"({"cdiVersion": "0.5.0", "kind": "acme.com/nic", "devices": [
  {"name": "n0", "containerEdits": {"env": ["NIC=n0"]}}]})";

std::string refused(const std::string& text) {
  const Result<CdiSpec> spec = parse_cdi_spec(text, "f.yaml");
  return spec.ok() ? "" : spec.error().message;
}

class CdiTest : public testing::Test {
 protected:
  CdiTest() {
    char path[] = "/tmp/cdi_test_XXXXXX";
    root_ = ::mkdtemp(path);
    fs::create_directories(root_ / "etc");
    fs::create_directories(root_ / "run");
  }
  ~CdiTest() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::ofstream(root_ / path) << text;
  }
  CdiRegistry read() const {
    return CdiRegistry::read({(root_ / "etc").string(), (root_ / "run").string(), "/no/such"});
  }
  fs::path root_;
};

TEST_F(CdiTest, ReadsYamlAndJson) {
  write("etc/a.yaml", kYaml);
  write("run/nic.json", kJson);
  const CdiRegistry registry = read();
  ASSERT_TRUE(registry.errors().empty()) << registry.errors()[0].message;
  const auto edits = registry.edits({"acme.com/gpu=0", "acme.com/gpu=GPU-1", "acme.com/nic=n0"});
  ASSERT_TRUE(edits.ok()) << edits.error().message;
  using Variables = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(edits->environment, (Variables{{"ACME_DRIVER", "7"}, {"EMPTY", ""}, {"NIC", "n0"}}))
      << "what is for all of a file comes once";
  EXPECT_EQ(edits->devices, (std::vector<std::string>{"/dev/acme0", "/dev/acmectl", "/dev/acme1"}));
  ASSERT_EQ(edits->mounts.size(), 1u);
  EXPECT_FALSE(edits->mounts[0].writable);
  EXPECT_EQ(edits->mounts[0].target, "/usr/lib/a.so");
  ASSERT_EQ(edits->hooks.size(), 1u);
  EXPECT_EQ(edits->hooks[0].arguments, (std::vector<std::string>{"acme", "links"}));
  EXPECT_EQ(edits->hooks[0].timeout_s, 5);
  EXPECT_EQ(edits->groups, (std::vector<std::uint32_t>{44}));
}

TEST_F(CdiTest, DevicesAreFoundByNameOrByTheFileThatTheyAloneBring) {
  write("etc/a.yaml", kYaml);
  const CdiRegistry registry = read();
  EXPECT_EQ(registry.find("acme.com/gpu", "GPU-1", "/dev/acme0"), "acme.com/gpu=GPU-1");
  EXPECT_EQ(registry.find("acme.com/gpu", "GPU-0", "/dev/acme0"), "acme.com/gpu=0");
  EXPECT_EQ(registry.find("acme.com/gpu", "GPU-9", "/dev/acme9"), "");
  EXPECT_EQ(registry.find("acme.com/gpu", "GPU-9", ""), "");
  EXPECT_TRUE(registry.has_kind("acme.com/gpu"));
  EXPECT_FALSE(registry.has_kind("acme.com/gp"));
}

TEST_F(CdiTest, TheLaterDirectoryWinsAndOneDirectoryMustAgree) {
  write("etc/nic.json", kJson);
  std::string other = kJson;
  other.replace(other.find("NIC=n0"), 6, "NIC=n1");
  write("run/nic.json", other);
  EXPECT_EQ(read().edits({"acme.com/nic=n0"})->environment[0].second, "n1");
  write("run/other.json", kJson);
  const auto conflict = read().edits({"acme.com/nic=n0"});
  ASSERT_FALSE(conflict.ok());
  EXPECT_NE(conflict.error().message.find("run/nic.json and "), std::string::npos);
}

TEST_F(CdiTest, AnUnknownDeviceNamesTheFilesThatAreMalformed) {
  write("etc/a.yaml", "cdiVersion: 0.6.0\nkind: acme\n");
  const auto edits = read().edits({"acme.com/gpu=0"});
  ASSERT_FALSE(edits.ok());
  EXPECT_NE(edits.error().message.find("no CDI device acme.com/gpu=0"), std::string::npos);
  EXPECT_NE(edits.error().message.find("a.yaml:2:7: 'acme' is not of the form vendor.com/class"),
            std::string::npos)
      << edits.error().message;
}

TEST_F(CdiTest, WhatIsMalformedIsRefusedWithItsPlaceAndRemedy) {
  const std::string head = "cdiVersion: 0.6.0\nkind: a.com/b\n";
  const auto device = [&](const std::string& edits) {
    return refused(head + "devices:\n- name: x\n  containerEdits: {" + edits + "}\n");
  };
  EXPECT_EQ(device("env: [A=1]"), "");
  EXPECT_TRUE(device("env: [A]").starts_with("f.yaml:5:"));
  EXPECT_NE(device("env: [A]").find("write the file again"), std::string::npos);
  EXPECT_NE(device("env: A=1"), "");
  EXPECT_NE(device("deviceNodes: [{path: dev/x}]").find("'dev/x' is not an absolute path"),
            std::string::npos);
  EXPECT_NE(device("deviceNodes: [{path: /dev/../x}]"), "");
  EXPECT_NE(device("deviceNodes: [{path: /dev/x, hostPath: /dev/y}]"), "");
  EXPECT_NE(device("deviceNodes: [{path: /dev/x, type: b}]"), "");
  EXPECT_NE(device("mounts: [{hostPath: /a}]").find("no containerPath"), std::string::npos);
  EXPECT_NE(device("mounts: [{hostPath: /a, containerPath: /b, type: tmpfs}]"), "");
  EXPECT_NE(device("hooks: [{hookName: later, path: /a}]"), "");
  EXPECT_NE(device("additionalGids: [0]"), "") << "the group of the machine's root";
  EXPECT_NE(device("intelRdt: {closID: x}").find("no field `intelRdt`"), std::string::npos);
  EXPECT_NE(refused(head + "devices: [{name: x}, {name: x}]\n"), "");
  EXPECT_NE(refused(head + "devices: []\n"), "");
  EXPECT_NE(refused("kind: a.com/b\ndevices: [{name: x}]\n"), "");
  EXPECT_NE(refused("[1, 2"), "");
  EXPECT_NE(refused(""), "");
}

}  // namespace
}  // namespace dove::containers
