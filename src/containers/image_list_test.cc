#include "containers/image_list.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::containers {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "dove-images.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  void file(const std::string& name, const std::string& text = "") {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  void layout(const std::string& name, const std::string& manifests) {
    file(name + "/oci-layout");
    file(name + "/index.json", R"({"manifests":[)" + manifests + "]}");
  }

  std::string folder_;
};

TEST_F(Images, AreListedByTheNamesThatJobsGive) {
  const std::string named = R"({"digest":"sha256:1","annotations":)"
                            R"({"org.opencontainers.image.ref.name":")";
  layout("team/torch", named + R"(2.5"}},)" + named + R"(latest"}})");
  layout("plain", R"({"digest":"sha256:1"})");
  fs::create_directories(folder_ + "/debian/usr");
  fs::create_directories(folder_ + "/odd/app");
  file("archive.tar");
  file("notes.txt");
  const ImageList list = list_images(folder_);
  EXPECT_EQ(list.names, (Names{"archive.tar", "debian", "odd", "odd/app", "plain:*",
                               "team/torch:2.5", "team/torch:latest"}));
  EXPECT_TRUE(list.is_whole);
}

TEST_F(Images, AListThatIsCutSaysSo) {
  for (std::size_t i = 0; i <= kImagesListed_max; ++i) file(std::to_string(i) + ".tar");
  const ImageList list = list_images(folder_);
  EXPECT_EQ(list.names.size(), kImagesListed_max);
  EXPECT_FALSE(list.is_whole);
}

TEST_F(Images, DeepFoldersAndBrokenLayoutsAreNoImages) {
  fs::create_directories(folder_ + "/a/b/c/d/e");
  layout("broken", "7");
  layout("worse", "}");
  const ImageList list = list_images(folder_);
  EXPECT_FALSE(list.is_whole) << "something may lie below a/b/c/d";
  EXPECT_EQ(list.names, (Names{"a", "a/b", "a/b/c"}));
  EXPECT_TRUE(list_images(folder_ + "/nowhere").names.empty());
  EXPECT_TRUE(list_images(folder_ + "/nowhere").is_whole);
}

}  // namespace
}  // namespace dove::containers
