#include "agent/tasks/tail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

namespace dove::agent {
namespace {

class TailTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dove_tail_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    path_ = root_ + "/out";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  static std::string next(FileTail& tail, std::size_t most = 100) {
    Result<FileTail::Chunk> chunk = tail.read(most);
    return chunk.ok() ? chunk->bytes : "error: " + chunk.error().message;
  }
  std::string root_;
  std::string path_;
};

TEST_F(TailTest, WaitsForTheFileAndForMore) {
  FileTail tail(path_, 0);
  EXPECT_EQ(next(tail), "");
  append("one");
  EXPECT_EQ(next(tail), "one");
  EXPECT_EQ(next(tail), "");
  append("two");
  EXPECT_EQ(next(tail, 2), "tw");
  EXPECT_EQ(next(tail, 2), "o");
}

TEST_F(TailTest, BeginsWhereItIsTold) {
  append("0123456789");
  FileTail from(path_, 7);
  EXPECT_EQ(next(from), "789");
  FileTail last(path_, -4);
  EXPECT_EQ(next(last), "6789");
  FileTail more(path_, -400);
  EXPECT_EQ(next(more), "0123456789");
}

TEST_F(TailTest, GoesOnInTheNextFileAfterTheRestOfTheFormer) {
  FileTail tail(path_, 0);
  append("first");
  EXPECT_EQ(next(tail), "first");
  append(" rest");
  std::filesystem::rename(path_, path_ + ".1");
  append("second");
  EXPECT_EQ(next(tail), " rest");
  const Result<FileTail::Chunk> chunk = tail.read(100);
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk->bytes, "second");
  EXPECT_EQ(chunk->offset, 0);
  EXPECT_TRUE(chunk->restarted);
}

TEST_F(TailTest, BeginsAgainWhenTheFileIsTruncated) {
  FileTail tail(path_, 0);
  append("long text");
  EXPECT_EQ(next(tail), "long text");
  std::ofstream(path_) << "new";
  EXPECT_EQ(next(tail), "new");
}

// To open a device may do something to it: /dev/watchdog begins to count.
TEST_F(TailTest, WhatIsNoFileIsNotOpened) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const std::string path = path_;
  // Waits until anybody opens it for reading, however briefly.
  auto opened = std::async(std::launch::async,
                           [path] { ::close(::open(path.c_str(), O_WRONLY | O_CLOEXEC)); });
  FileTail tail(path_, 0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(next(tail).find("cannot follow"), std::string::npos);
    ASSERT_EQ(opened.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
  }
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  opened.get();
  ::close(reader);
}

TEST_F(TailTest, RefusesWhatIsNoFile) {
  FileTail tail(root_, 0);
  EXPECT_FALSE(tail.read(10).ok());
}

}  // namespace
}  // namespace dove::agent
