#include "cli/slurm/programs/program_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace dove::cli {
namespace {

TEST(ProgramPath, AProgramIsLookedForInThePathThenWhereTheStepRuns) {
  const std::string folder = testing::TempDir() + "dove-program-path";
  std::filesystem::create_directories(folder);
  for (const char* name : {"a.out", "sh", "data"}) {
    const std::string file = folder + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n";
    const bool is_program = std::string(name) != "data";
    std::filesystem::permissions(file,
                                 static_cast<std::filesystem::perms>(is_program ? 0755 : 0644));
  }
  EXPECT_EQ(found_program("a.out", "/usr/bin:/bin", folder), folder + "/a.out");
  EXPECT_EQ(found_program("sh", "/usr/bin:/bin", folder), "sh") << "PATH comes first";
  EXPECT_EQ(found_program("sh", "/usr/bin:/bin", folder, true), "/usr/bin/sh");
  EXPECT_EQ(found_program("data", "/usr/bin:/bin", folder), "data") << "no program";
  EXPECT_EQ(first_in_path(
                "sh", ":" + folder + ":/bin",
                [](const std::filesystem::path& found) { return found.parent_path() == "/bin"; }),
            "/bin/sh");
  EXPECT_EQ(first_in_path("data", folder, [](const auto&) { return true; }), "");
  EXPECT_EQ(found_program("./a.out", "", folder), "./a.out");
  std::filesystem::remove_all(folder);
}

TEST(ProgramPath, ACopyIsWhereItIsSaidOrHasANameOfItsOwn) {
  EXPECT_EQ(copy_path("/tmp/p", "/data", "12", 5), "/tmp/p");
  EXPECT_EQ(copy_path("p", "/data", "12", 5), "/data/p");
  EXPECT_EQ(copy_path("/tmp/", "/data", "12", 5), "/tmp/slurm_bcast_12.5_%N");
  EXPECT_EQ(copy_path("", "/data", "12", 5), "/data/slurm_bcast_12.5_%N");
  EXPECT_EQ(program_name("/usr/bin/sh"), "sh");
}

}  // namespace
}  // namespace dove::cli
