#include "agent/tasks/python_package.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

TEST(PythonPackage, IsWrittenAsItIsInTheTreeAndReplacesAFormerOne) {
  std::string folder = fs::temp_directory_path() / "dove-python-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  fs::create_directories(folder + "/dove");
  std::ofstream(folder + "/dove/progress.py") << "old";
  ASSERT_TRUE(write_python_package(folder).ok());
  const auto text_of = [](const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(DOVE_SOURCE_DIR "/python/dove")) {
    if (entry.path().extension() != ".py") continue;
    ++files;
    const std::string text = text_of(entry.path());
    EXPECT_EQ(text_of(fs::path(folder) / "dove" / entry.path().filename()), text) << entry.path();
    EXPECT_FALSE(text.empty()) << entry.path();
  }
  EXPECT_EQ(python_package().size(), files);
  fs::remove_all(folder);
  EXPECT_FALSE(write_python_package("/proc/no/such").ok());
}

}  // namespace
}  // namespace dove::agent
