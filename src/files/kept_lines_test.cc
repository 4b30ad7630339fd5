#include "files/kept_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace dove::files {
namespace {

constexpr std::size_t kMax = 4096;

class KeptLinesTest : public testing::Test {
 protected:
  ~KeptLinesTest() override { std::filesystem::remove(path_); }
  KeptLines read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_kept_lines(path_, kMax);
  }
  const std::string path_ = testing::TempDir() + "/kept-lines-" + std::to_string(::getpid());
};

TEST_F(KeptLinesTest, AreReadAsTheyWereWritten) {
  EXPECT_TRUE(read_kept_lines(path_, kMax).whole.empty());
  const KeptLines lines = read(kept_line("0 4 MIG-1") + kept_line("") + kept_line("{\"a\": 1}"));
  EXPECT_EQ(lines.whole, (std::vector<std::string>{"0 4 MIG-1", "", "{\"a\": 1}"}));
  EXPECT_EQ(lines.damaged, 0u);
  EXPECT_EQ(read("0 4 MIG-1\n1 0 MIG-2\n").whole.size(), 2u) << "of a former version";
}

TEST_F(KeptLinesTest, ABitThatFlippedLeavesOutItsLine) {
  const std::string text = kept_line("0 4 MIG-J*1") + kept_line("1 0 MIG-2") + kept_line("7");
  const std::vector<std::string> written = read(text).whole;
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const KeptLines lines = read(changed);
    EXPECT_GT(lines.damaged, 0u) << bit;
    for (const std::string& line : lines.whole) {
      EXPECT_NE(std::find(written.begin(), written.end(), line), written.end()) << line;
    }
  }
}

}  // namespace
}  // namespace dove::files
