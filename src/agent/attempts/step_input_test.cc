#include "agent/attempts/step_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace dove::agent {
namespace {

using Piece = StepInput::Piece;

class StepInputTest : public ::testing::Test {
 protected:
  StepInputTest() {
    std::string pattern = ::testing::TempDir() + "input.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    input_ = std::make_unique<StepInput>(
        loop_,
        [this](std::int64_t offset, std::function<void(Piece)> done) {
          offsets_.push_back(offset);
          const Piece piece = pieces_.empty() ? Piece{Piece::Kind::kNothingYet, ""} : pieces_[0];
          if (!pieces_.empty()) pieces_.erase(pieces_.begin());
          answer_ = loop_.after(std::chrono::milliseconds(1), [done, piece] { done(piece); });
        },
        [this] { ended_ = true; });
  }
  ~StepInputTest() override {
    for (const int fd : fds_) ::close(fd);
    std::filesystem::remove_all(folder_);
  }

  void add(Rank rank) {
    const std::string path = folder_ + "/" + std::to_string(rank);
    ASSERT_TRUE(input_->add(rank, path, "").ok());
    fds_.push_back(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
    read_.emplace_back();
  }
  void read_all() {
    char bytes[4096];
    for (std::size_t i = 0; i < fds_.size(); ++i) {
      for (ssize_t got; (got = ::read(fds_[i], bytes, sizeof bytes)) > 0;) {
        read_[i].append(bytes, static_cast<std::size_t>(got));
      }
    }
  }
  bool until(const std::function<bool()>& done) {
    return loop_.run_until(done, std::chrono::seconds(20));
  }

  wire::Loop loop_;
  std::string folder_;
  std::unique_ptr<StepInput> input_;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> offsets_;
  std::vector<int> fds_;
  std::vector<std::string> read_;
  wire::Timer answer_;
  bool ended_ = false;
};

TEST_F(StepInputTest, EveryTaskGetsAllOfItAndTheEnd) {
  add(0);
  add(4);
  pieces_ = {{Piece::Kind::kBytes, "one\n"},
             {Piece::Kind::kNothingYet, ""},
             {Piece::Kind::kBytes, std::string(1, '\0') + "two"},
             {Piece::Kind::kEnd, ""}};
  input_->begin();
  ASSERT_TRUE(until([&] { return ended_; }));
  read_all();
  const std::string all = std::string("one\n") + '\0' + "two";
  EXPECT_EQ(read_, (std::vector<std::string>{all, all}));
  EXPECT_EQ(offsets_, (std::vector<std::int64_t>{0, 4, 4, 8}));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/4"));
}

TEST_F(StepInputTest, ASlowTaskHoldsUpTheNextPiece) {
  add(0);
  const std::string large(300'000, 'x');
  pieces_ = {{Piece::Kind::kBytes, large}, {Piece::Kind::kEnd, ""}};
  input_->begin();
  bool passed = false;
  const wire::Timer later = loop_.after(std::chrono::milliseconds(50), [&] { passed = true; });
  ASSERT_TRUE(until([&] { return passed; }));
  EXPECT_EQ(offsets_.size(), 1u);
  ASSERT_TRUE(until([&] {
    read_all();
    return ended_;
  }));
  EXPECT_EQ(read_[0].size(), large.size());
}

TEST_F(StepInputTest, ATaskThatIsOverHoldsUpNobody) {
  add(0);
  add(1);
  pieces_ = {{Piece::Kind::kBytes, std::string(300'000, 'x')}};
  input_->begin();
  ASSERT_TRUE(until([&] { return !offsets_.empty() && pieces_.empty(); }));
  input_->drop(0);
  input_->drop(1);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/0"));
}

TEST_F(StepInputTest, WhatFailsIsAskedForAgain) {
  add(0);
  pieces_ = {{Piece::Kind::kFailed, ""}, {Piece::Kind::kBytes, "x"}, {Piece::Kind::kEnd, ""}};
  input_->begin();
  ASSERT_TRUE(until([&] { return ended_; }));
  EXPECT_EQ(offsets_, (std::vector<std::int64_t>{0, 0, 1}));
}

// A later agent finds the FIFO, and knows by it that the input did not end.
TEST_F(StepInputTest, TheEndOfTheAgentIsNotTheEndOfTheInput) {
  add(0);
  input_.reset();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/0"));
}

}  // namespace
}  // namespace dove::agent
