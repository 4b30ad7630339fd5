#include "agent/container_plan.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dove::agent
