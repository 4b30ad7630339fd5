#include "foreign/policy_library.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "core/place/score.h"
#include "core/place/score_board.h"
#include "core/queue/queue_tree.h"
#include "core/state/state.h"
#include "policies/standard.h"

namespace dove::foreign {
namespace {

Result<std::unique_ptr<PolicyLibrary>> load(const char* how) {
  setenv("FAKE_POLICY", how, 1);
  return PolicyLibrary::load(FAKE_PATH, policies::standard_policies());
}

TEST(PolicyLibrary, RanksAndScoresAsTheLibrarySays) {
  auto library = load("");
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ((*library)->name().substr(0, 5), "fake/");

  auto spec = std::make_shared<JobSpec>();
  spec->groups.resize(1);
  spec->groups[0].tasks = 3;
  spec->groups[0].per_task.gpus = 2;
  core::Job job;
  job.spec = spec;
  core::State state;
  EXPECT_EQ((*library)->order()->rank(state, job), 6003);
  spec->user = "most";
  EXPECT_EQ((*library)->order()->rank(state, job), -(std::int64_t{1} << 61));

  core::FreeState node;
  node.devices_milli = {1000, 400};
  core::TaskShape task;
  task.devices = 1;
  task.device_milli = 250;
  const auto scorer = (*library)->score()->prepare({}, {});
  EXPECT_EQ(scorer->score(node, task).value, 400'250);
}

TEST(PolicyLibrary, IsFoundByNameAndChangesTheDigestOfPolicies) {
  std::vector<std::unique_ptr<PolicyLibrary>> libraries;
  libraries.push_back(load("").value());
  const core::Policies all = with_libraries(policies::standard_policies(), libraries);
  EXPECT_EQ(core::find_order(all, "fake"), libraries[0]->order());
  EXPECT_EQ(core::find_score(all, "fake"), libraries[0]->score());
  EXPECT_NE(policies::policy_digest(all), policies::policy_digest(policies::standard_policies()));
  libraries.clear();
  libraries.push_back(load("order").value());
  EXPECT_EQ(libraries[0]->score(), nullptr);
  const core::Policies orders = with_libraries(policies::standard_policies(), libraries);
  EXPECT_EQ(core::find_score(orders, "fake"), nullptr);
}

TEST(PolicyLibrary, RefusesWhatItCannotUseAndSaysWhy) {
  for (const auto& [how, code] :
       {std::pair{"null", "policy_version"}, std::pair{"later", "policy_version"},
        std::pair{"short", "policy_version"}, std::pair{"nameless", "policy_name"},
        std::pair{"shouting", "policy_name"}, std::pair{"known", "policy_name"},
        std::pair{"empty", "policy_empty"}}) {
    const auto library = load(how);
    ASSERT_FALSE(library.ok()) << how;
    EXPECT_EQ(library.error().code, code);
    EXPECT_NE(library.error().message.find(FAKE_PATH), std::string::npos);
  }
  const core::Policies& known = policies::standard_policies();
  EXPECT_EQ(PolicyLibrary::load("fake.so", known).error().code, "policy_path");
  EXPECT_EQ(PolicyLibrary::load("/no/such.so", known).error().code, "policy_path");
}

TEST(PolicyLibrary, RefusesAFileThatOthersCanWrite) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("dove-policy" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "fake.so";
  std::filesystem::copy_file(FAKE_PATH, file);
  const core::Policies& known = policies::standard_policies();
  setenv("FAKE_POLICY", "", 1);
  chmod(file.c_str(), 0777);
  EXPECT_EQ(PolicyLibrary::load(file, known).error().code, "policy_unsafe");
  chmod(file.c_str(), 0644);
  EXPECT_TRUE(PolicyLibrary::load(file, known).ok());
  // A link is as good as what it leads to.
  std::filesystem::create_symlink(file, folder / "link.so");
  EXPECT_TRUE(PolicyLibrary::load(folder / "link.so", known).ok());
  chmod(file.c_str(), 0777);
  EXPECT_EQ(PolicyLibrary::load(folder / "link.so", known).error().code, "policy_unsafe");
  chmod(file.c_str(), 0644);
  chmod(folder.c_str(), 0777);
  EXPECT_EQ(PolicyLibrary::load(file, known).error().code, "policy_unsafe");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dove::foreign
