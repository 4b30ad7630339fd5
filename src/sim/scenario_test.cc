// Runs every file of tests/scenarios; DOVE_BLESS=1 rewrites what they expect.
#include "sim/scenario.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/standard.h"

namespace dove::sim {
namespace {

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root = std::filesystem::path(DOVE_SOURCE_DIR) / "tests/scenarios";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".scenario") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class EachScenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EachScenario, DecidesAsExpected) {
  const Scenario scenario = split_scenario(read_file(GetParam()));
  const auto out = run_scenario(scenario.input, policies::standard_policies());
  ASSERT_TRUE(out.ok()) << out.error().message;
  if (std::getenv("DOVE_BLESS") != nullptr) {
    std::ofstream(GetParam()) << scenario.input << *out;
  } else {
    EXPECT_EQ(*out, scenario.expected) << "DOVE_BLESS=1 rewrites what is expected";
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, EachScenario, testing::ValuesIn(scenario_files()),
                         [](const auto& file) {
                           std::string name;
                           for (char c : file.param.stem().string()) {
                             name.push_back(std::isalnum(static_cast<unsigned char>(c)) ? c : '_');
                           }
                           return name;
                         });

}  // namespace
}  // namespace dove::sim
