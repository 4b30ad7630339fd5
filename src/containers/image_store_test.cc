#include "containers/image_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace dove::containers {
namespace {

namespace fs = std::filesystem;

class ImageStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "images.XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ + "/images");
    make_store();
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(root_);
  }
  void make_store(std::chrono::hours keep_for = std::chrono::hours(1)) {
    store_ = std::make_unique<ImageStore>(
        loop_, ImageStoreOptions{root_ + "/images", root_ + "/store", false, "", keep_for});
  }
  Result<void> run(std::vector<std::string> argv) {
    std::optional<Result<void>> ended;
    Child child(loop_, std::move(argv), std::chrono::seconds(60),
                [&](Result<void> result) { ended = std::move(result); });
    loop_.run_until([&] { return ended.has_value(); }, std::chrono::seconds(60));
    return ended.value_or(Error{ErrorKind::kTimeout, "", "did not end", ""});
  }
  Result<void> prepare(const std::string& name) {
    std::optional<Result<void>> ended;
    store_->prepare(name, "", [&](Result<void> result) { ended = std::move(result); });
    loop_.run_until([&] { return ended.has_value(); }, std::chrono::seconds(60));
    return ended.value_or(Error{ErrorKind::kTimeout, "", "did not end", ""});
  }
  // A layout `name`:latest with one file; false where there is no umoci, or no root for it.
  bool make_layout(const std::string& name) {
    if (::geteuid() != 0 || !run({"umoci", "--version"}).ok()) return false;
    const std::string layout = root_ + "/images/" + name;
    fs::create_directories(root_ + "/files/etc");
    std::ofstream(root_ + "/files/etc/made-of") << name;
    const std::string image = layout + ":latest";
    return run({"umoci", "init", "--layout", layout}).ok() &&
           run({"umoci", "new", "--image", image}).ok() &&
           run({"umoci", "insert", "--image", image, root_ + "/files", "/"}).ok() &&
           run({"umoci", "config", "--image", image, "--config.env", "PLANET=earth",
                "--config.workingdir", "/etc"})
               .ok();
  }
  std::string text(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
  }

  std::string root_;
  wire::Loop loop_;
  std::unique_ptr<ImageStore> store_;
};

TEST_F(ImageStoreTest, NamesThatLeadOutAreRefused) {
  for (const char* name : {"", "../store", "a/../../b", "-x", "docker://host/a"}) {
    const Result<Image> found = store_->find(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_EQ(found.error().kind, ErrorKind::kInvalid) << name;
  }
  for (const char* name : {"", "../store", "a/../../b", "-x", "docker://host/a", "nothing"}) {
    const Result<void> prepared = prepare(name);
    ASSERT_FALSE(prepared.ok()) << name;
    EXPECT_EQ(prepared.error().kind, ErrorKind::kInvalid) << name;
    EXPECT_FALSE(store_->find(name).ok()) << name;
  }
}

TEST_F(ImageStoreTest, ARootDirectoryIsUsedAsItIs) {
  fs::create_directories(root_ + "/images/plain/bin");
  EXPECT_TRUE(prepare("plain").ok());
  const Result<Image> image = store_->find("plain");
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->root, root_ + "/images/plain");
  EXPECT_FALSE(prepare("plain:tag").ok());
  EXPECT_FALSE(store_->find("plain:tag").ok());
}

// What is found while it answers is what is used while it does not.
TEST_F(ImageStoreTest, OnlyPreparingLooksAtTheDirectory) {
  fs::create_directories(root_ + "/images/plain/etc");
  std::ofstream(root_ + "/images/plain/etc/rc") << "exec \"$@\"\n";
  EXPECT_EQ(store_->find("plain").error().kind, ErrorKind::kUnavailable);
  ASSERT_TRUE(prepare("plain").ok());
  fs::rename(root_ + "/images", root_ + "/gone");
  ASSERT_TRUE(store_->find("plain").ok());
  EXPECT_EQ(store_->find("plain")->root, root_ + "/images/plain");
  EXPECT_EQ(*store_->entrypoint("plain"), (std::vector<std::string>{"/bin/sh", "/etc/rc"}));
  EXPECT_EQ(store_->held(store_->find("plain")->key)->workdir, "/");
}

TEST_F(ImageStoreTest, ADirectoryThatDoesNotAnswerIsNamed) {
  fs::create_directories(root_ + "/images/plain");
  std::function<void()> hung;
  std::function<void(bool)> told;
  ImageStoreOptions options{root_ + "/images", root_ + "/store"};
  options.look_limit = std::chrono::seconds(7);
  options.aside = [&](std::chrono::milliseconds limit, std::function<void()> look,
                      std::function<void(bool)> done) {
    EXPECT_EQ(limit, std::chrono::seconds(7));
    hung = std::move(look);
    told = std::move(done);
  };
  ImageStore store(loop_, options);
  std::optional<Result<void>> ended;
  store.prepare("plain", "", [&](Result<void> result) { ended = std::move(result); });
  EXPECT_FALSE(ended) << "nobody has looked";
  told(false);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->error().code, "no_answer");
  EXPECT_NE(ended->error().message.find(root_ + "/images, has not answered within 7 s"),
            std::string::npos);
  EXPECT_FALSE(store.find("plain").ok());
  // The next one finds it well.
  ended.reset();
  store.prepare("plain", "", [&](Result<void> result) { ended = std::move(result); });
  hung();
  told(true);
  EXPECT_TRUE(ended && ended->ok());
  EXPECT_TRUE(store.find("plain").ok());
}

TEST_F(ImageStoreTest, ALayoutIsUnpackedOncePerDigest) {
  if (!make_layout("base")) GTEST_SKIP() << "needs root and umoci";
  EXPECT_EQ(store_->find("base").error().kind, ErrorKind::kUnavailable);
  const Result<void> prepared = prepare("base");
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  const Result<Image> image = store_->find("base");
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(text(image->root + "/etc/made-of"), "base");
  EXPECT_EQ(image->environment.at("PLANET"), "earth");
  EXPECT_EQ(image->workdir, "/etc");
  EXPECT_TRUE(image->key.starts_with("sha256_"));
  EXPECT_TRUE(prepare("base:latest").ok());
  EXPECT_EQ(store_->find("base:latest")->key, image->key);
  EXPECT_FALSE(prepare("base:other").ok());
  EXPECT_FALSE(store_->find("base:other").ok());
  // By what a container wrote down, whatever became of the name.
  fs::remove_all(root_ + "/images/base");
  EXPECT_EQ(store_->held(image->key)->environment.at("PLANET"), "earth");
}

TEST_F(ImageStoreTest, AnArchiveIsBroughtBySkopeo) {
  if (!make_layout("base") || !run({"skopeo", "--version"}).ok()) {
    GTEST_SKIP() << "needs root, umoci and skopeo";
  }
  const std::string archive = "oci-archive:" + root_ + "/images/base.tar:latest";
  const Result<void> packed =
      run({"skopeo", "copy", "--quiet", "oci:" + root_ + "/images/base:latest", archive});
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const Result<void> prepared = prepare("base.tar");
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_TRUE(store_->find("base.tar").ok());
}

TEST_F(ImageStoreTest, WhatNobodyUsesIsRemoved) {
  for (const char* name : {"sha256_used", "sha256_old", "sha256_half.part"}) {
    fs::create_directories(root_ + "/store/" + name + "/rootfs");
  }
  make_store(std::chrono::hours(0));
  store_->collect({"sha256_used"});
  loop_.run_until(
      [&] {
        return !fs::exists(root_ + "/store/sha256_old") &&
               !fs::exists(root_ + "/store/sha256_half.part");
      },
      std::chrono::seconds(30));
  EXPECT_FALSE(fs::exists(root_ + "/store/sha256_old"));
  EXPECT_FALSE(fs::exists(root_ + "/store/sha256_half.part"));
  EXPECT_TRUE(fs::exists(root_ + "/store/sha256_used"));
}

TEST_F(ImageStoreTest, AProgramThatFailsSaysWhy) {
  const Result<void> failed = run({"ls", "/no/such/file"});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("No such file"), std::string::npos);
  EXPECT_FALSE(run({"/no/such/program"}).ok());
}

}  // namespace
}  // namespace dove::containers
