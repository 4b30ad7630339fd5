#include "agent/python_package.h"

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
  EXPECT_EQ(python_package().size(), 3u);
  for (const EmbeddedFile& file : python_package()) {
    std::stringstream text;
    text << std::ifstream(folder + "/dove/" + std::string(file.name)).rdbuf();
    EXPECT_EQ(text.str(), file.text);
    EXPECT_FALSE(file.text.empty());
  }
  fs::remove_all(folder);
  EXPECT_FALSE(write_python_package("/proc/no/such").ok());
}

}  // namespace
}  // namespace dove::agent
