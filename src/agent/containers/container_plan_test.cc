#include "agent/containers/container_plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "containers/place.h"

namespace dove::agent {
namespace {

std::string python_path(std::map<std::string, std::string> of_job,
                        std::map<std::string, std::string> of_image) {
  TaskPlan plan;
  plan.environment = std::move(of_job);
  containers::Image image;
  image.environment = std::move(of_image);
  return container_bundle(plan, image, {}, {}).environment.at("PYTHONPATH");
}

TEST(ContainerPlan, ThePackageDoveComesBehindWhatJobAndImageHave) {
  const std::string ours = containers::kPython;
  EXPECT_EQ(python_path({}, {}), ours);
  EXPECT_EQ(python_path({}, {{"PYTHONPATH", "/opt/lib"}}), "/opt/lib:" + ours);
  EXPECT_EQ(python_path({{"PYTHONPATH", "/mine"}}, {{"PYTHONPATH", "/opt/lib"}}),
            "/mine:/opt/lib:" + ours);
}

TEST(ContainerPlan, ThePackageDoveIsShownReadOnly) {
  const auto binds = container_binds({}, {}, {"/bin/true", "", "", "/data/python"});
  ASSERT_TRUE(binds.ok());
  ASSERT_EQ(binds->size(), 2u);
  EXPECT_EQ(binds->back().how, "ro");
  EXPECT_EQ(binds->back().root, "/data/python");
  EXPECT_EQ(binds->back().target, containers::kPython);
}

// How a user sees a volume there, or the error's code.
std::string seen_by(const std::string& user, const std::string& source, bool writable,
                    const std::string& linux_user = "") {
  const auto roots =
      parse_volume_roots("/shared,/shared/vision=ann+bob,/shared/sets=*,/shared/models=ann+*");
  if (!roots.ok()) return roots.error().code;
  TaskPlan plan;
  plan.volume_user = user;
  plan.linux_user = linux_user;
  plan.container.volumes = {{source, "", writable}};
  const auto binds = container_binds(plan, *roots, {"/bin/true", "", "", ""});
  return binds.ok() ? binds->back().how : binds.error().code;
}

TEST(ContainerPlan, WhoHasNoLinuxUserGetsWhatIsDeclaredAlone) {
  EXPECT_EQ(seen_by("ann", "/shared/vision/x", true), "owned");
  EXPECT_EQ(seen_by("ann", "/shared/vision", false), "owned-ro");
  EXPECT_EQ(seen_by("bob", "/shared/vision/x", false), "owned-ro");
  EXPECT_EQ(seen_by("bob", "/shared/vision/x", true), "volume_not_yours");
  EXPECT_EQ(seen_by("eve", "/shared/vision/x", false), "volume_not_yours");
  EXPECT_EQ(seen_by("ann", "/shared/vision/../home", false), "volume_not_yours");
  EXPECT_EQ(seen_by("eve", "/shared", false), "volume_not_yours");
  EXPECT_EQ(seen_by("eve", "/shared/sets", true), "owned");
  EXPECT_EQ(seen_by("eve", "/shared/models", false), "owned-ro");
  EXPECT_EQ(seen_by("eve", "/shared/models", true), "volume_not_yours");
  EXPECT_EQ(seen_by("eve", "/elsewhere", false), "volume_not_allowed");
}

TEST(ContainerPlan, TheKernelChecksLinuxUsers) {
  EXPECT_EQ(seen_by("", "/shared/vision/x", true, "lin-eve"), "rw");
  EXPECT_EQ(seen_by("", "/shared/vision/x", false, "lin-eve"), "ro");
}

TEST(ContainerPlan, AMalformedRootIsNamed) {
  for (const char* text : {"/shared=", "=ann", "/a,/b="}) {
    const auto roots = parse_volume_roots(text);
    ASSERT_FALSE(roots.ok()) << text;
    EXPECT_NE(roots.error().message.find("DIR=OWNER[+READER]"), std::string::npos);
  }
}

// A network adapter's plug-in says nothing of the GPU beside it.
TEST(ContainerPlan, CdiIsAskedForDevicesAndForWhatPlugInsName) {
  const std::string folder = testing::TempDir() + "/cdi-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const auto describe = [&](const std::string& kind, const std::string& device) {
    std::ofstream(folder + "/" + kind.substr(0, 3) + ".yaml")
        << "cdiVersion: 0.6.0\nkind: " << kind << "\ndevices: [{name: " << device
        << ", containerEdits: {env: [\"OF=" << kind << "\"]}}]\n";
  };
  describe("nvidia.com/gpu", "GPU-7");
  describe("acme.com/nic", "first");
  TaskPlan plan;
  plan.devices = {{"nvidia", "GPU-7", ""}};
  plan.edits.cdi_devices = {"acme.com/nic=first"};
  const auto edits = cdi_edits(plan, {{folder}, {{"nvidia", "nvidia.com/gpu"}}});
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(edits.ok()) << edits.error().message;
  ASSERT_EQ(edits->environment.size(), 2u);
  EXPECT_EQ(edits->environment[0].second, "acme.com/nic");
  EXPECT_EQ(edits->environment[1].second, "nvidia.com/gpu");
}

TEST(ContainerPlan, HugePagesAreFileSystemsOfTheirSize) {
  TaskPlan plan;
  EXPECT_EQ(container_binds(plan, {}, {"/bin/true", "", "", ""})->size(), 1u);
  plan.huge_pages = {{std::int64_t{1} << 30, std::int64_t{2} << 30}};
  auto binds = container_binds(plan, {}, {"/bin/true", "", "", ""});
  ASSERT_EQ(binds->size(), 2u);
  EXPECT_EQ(binds->back().how, "huge");
  EXPECT_EQ(binds->back().root, "1073741824");
  EXPECT_EQ(binds->back().path, "2147483648");
  EXPECT_EQ(binds->back().target, "/dev/hugepages");
  plan.huge_pages[2 << 20] = 4 << 20;
  binds = container_binds(plan, {}, {"/bin/true", "", "", ""});
  ASSERT_EQ(binds->size(), 3u);
  EXPECT_EQ((*binds)[1].root, "2097152");
  EXPECT_EQ((*binds)[1].target, "/dev/hugepages");
  EXPECT_EQ((*binds)[2].target, "/dev/hugepages-1Gi");
}

TEST(ContainerPlan, WhatYieldsIsHiddenByTheImage) {
  TaskPlan plan;
  plan.environment = {{"LIBRARIES", "/host"}, {"MINE", "1"}, {"RANK", "3"}};
  plan.yields = {"LIBRARIES", "MINE"};
  containers::Image image;
  image.environment = {{"LIBRARIES", "/opt"}, {"RANK", "0"}};
  const auto environment = container_bundle(plan, image, {}, {}).environment;
  EXPECT_EQ(environment.at("LIBRARIES"), "/opt");
  EXPECT_EQ(environment.at("MINE"), "1") << "the image does not set it";
  EXPECT_EQ(environment.at("RANK"), "3") << "that is Dovetail's";
}

}  // namespace
}  // namespace dove::agent
