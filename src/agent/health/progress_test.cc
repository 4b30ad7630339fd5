#include "agent/health/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

TEST(ProgressLine, SaysStepTimesAndMore) {
  const auto said = read_progress_line(
      "step=120 seconds=0.81 wait=0.1 samples=512 loss=2.5 phase=train new=1   \nrest");
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->step, 120);
  EXPECT_EQ(said->step_us, 810'000);
  EXPECT_EQ(said->wait_us, 100'000);
  EXPECT_EQ(said->samples, 512);
  EXPECT_EQ(said->loss, 2.5);
  EXPECT_EQ(said->phase, "train");
}

TEST(ProgressLine, WhatIsNotWholeOrHasNoStepSaysNothing) {
  EXPECT_FALSE(read_progress_line("step=12").has_value());  // its end is not written yet
  EXPECT_FALSE(read_progress_line("").has_value());
  EXPECT_FALSE(read_progress_line("seconds=1\n").has_value());
  EXPECT_FALSE(read_progress_line("step=-1\n").has_value());
  EXPECT_FALSE(read_progress_line("step=99999999999999999999\n").has_value());
}

TEST(ProgressLine, ValuesOutOfBoundsAreLeftOut) {
  const auto said =
      read_progress_line("step=1 seconds=nan wait=-1 samples=-3 loss=inf phase=a/b\n");
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(*said, (Said{1, 0, 0, 0, std::nullopt, "", {}}));
  EXPECT_EQ(read_progress_line("step=1 seconds=1e99\n")->step_us, 0);
  EXPECT_EQ(read_progress_line("step=1 seconds=1 wait=5\n")->wait_us, 1'000'000);
}

TEST(ProgressLine, NamesRanksWithWhichACollectiveFailed) {
  EXPECT_EQ(read_progress_line("step=0 blamed=7,3,3\n")->blamed, (std::vector<Rank>{3, 7}));
  EXPECT_EQ(read_progress_line("step=0 blamed=-1,x,,2\n")->blamed, (std::vector<Rank>{2}));
  EXPECT_EQ(read_progress_line("step=0 blamed=1,2,3,4,5,6,7,8,9,10\n")->blamed.size(), kBlamed_max);
}

class ProgressFiles : public testing::Test {
 protected:
  ProgressFiles() : folder_(fs::temp_directory_path() / "dove-progress-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~ProgressFiles() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
  }

  std::string folder_;
};

TEST_F(ProgressFiles, OneFileForEachRankAndOthersAreRemoved) {
  write("7.1.aa.0", "step=4 seconds=1\n");
  write("7.1.aa.17", "step=3\n");
  write("7.1.aa.x", "step=3\n");
  write("7.2.bb.0", "step=5\n");
  write("notes", "step=5\n");
  ProgressFound found{{"7.1.aa", {}}, {"8.1.cc", {}}};
  read_progress(folder_, /*removes=*/true, found);
  ASSERT_EQ(found.at("7.1.aa").size(), 2u);
  EXPECT_EQ(found.at("7.1.aa").at(0).step, 4);
  EXPECT_EQ(found.at("7.1.aa").at(17).step, 3);
  EXPECT_TRUE(found.at("8.1.cc").empty());
  EXPECT_TRUE(fs::exists(file("7.1.aa.0")));
  EXPECT_FALSE(fs::exists(file("7.2.bb.0")));
  EXPECT_FALSE(fs::exists(file("notes")));
}

// Everybody may make files there, and the agent's disk is not theirs to fill.
TEST_F(ProgressFiles, WhatStrangersPutThereGoesAndNothingGrows) {
  fs::create_directories(file("theirs/deep/er"));
  write("theirs/deep/er/film", std::string(1 << 20, 'x'));
  fs::create_directory(folder_ + ".precious");
  std::ofstream(folder_ + ".precious/thesis") << "years";
  fs::create_directory_symlink(folder_ + ".precious", file("theirs/link"));
  write("7.1.aa.0", "step=4\n" + std::string(1 << 20, 'x'));
  write("7.1.aa.1", "step=5\n");
  std::ofstream still_open(file("7.1.aa.2"));
  still_open << std::string(1 << 20, 'x') << std::flush;
  struct stat facts {};
  const int fd = ::open(file("7.1.aa.2").c_str(), O_RDONLY);
  ProgressFound found{{"7.1.aa", {}}};
  read_progress(folder_, /*removes=*/true, found);
  EXPECT_FALSE(fs::exists(file("theirs")));
  EXPECT_TRUE(fs::exists(folder_ + ".precious/thesis"));
  EXPECT_FALSE(fs::exists(file("7.1.aa.0")));
  EXPECT_TRUE(fs::exists(file("7.1.aa.1")));
  ASSERT_EQ(::fstat(fd, &facts), 0);
  EXPECT_EQ(facts.st_size, 0) << "who has it open keeps no room";
  ::close(fd);
  fs::remove_all(folder_ + ".precious");
}

// Where the kernel does not protect hard links, anybody can give anybody's file a name there.
TEST_F(ProgressFiles, AnotherNameOfAFileElsewhereEmptiesNothing) {
  const std::string elsewhere = folder_ + ".ledger";
  std::ofstream(elsewhere) << std::string(1 << 20, 'x');
  fs::create_hard_link(elsewhere, file("7.1.aa.0"));
  ProgressFound found{{"7.1.aa", {}}};
  read_progress(folder_, /*removes=*/true, found);
  EXPECT_FALSE(fs::exists(file("7.1.aa.0")));
  EXPECT_EQ(fs::file_size(elsewhere), 1u << 20);
  fs::remove(elsewhere);
}

// A job may put there what it likes: nothing of it holds up the agent or is followed.
TEST_F(ProgressFiles, OnlyPlainFilesAreRead) {
  write("aside", "step=7\n");
  fs::create_symlink(file("aside"), file("7.1.aa.1"));
  ASSERT_EQ(mkfifo(file("7.1.aa.2").c_str(), 0600), 0);
  fs::create_directory(file("7.1.aa.3"));
  write("7.1.aa.4", std::string(100'000, 'x') + "\nstep=1\n");
  ProgressFound found{{"7.1.aa", {}}};
  read_progress(folder_, /*removes=*/false, found);
  EXPECT_TRUE(found.at("7.1.aa").empty());
  for (int rank = 10; rank < 1000; ++rank) write("7.1.aa." + std::to_string(rank), "step=1\n");
  read_progress(folder_, /*removes=*/false, found);
  EXPECT_LE(found.at("7.1.aa").size(), kProgressRanks_max);
}

TEST_F(ProgressFiles, StrangersNamesHideNobodys) {
  write("7.1.aa.3", "step=9\n");
  for (int i = 0; i < 17'000; ++i) write("stranger" + std::to_string(i), "");
  ProgressFound found{{"7.1.aa", {}}};
  EXPECT_FALSE(read_progress(folder_, /*removes=*/false, found));
  read_progress_of(folder_, "7.1.aa", {0, 3}, found);
  ASSERT_EQ(found.at("7.1.aa").size(), 1u);
  EXPECT_EQ(found.at("7.1.aa").at(3).step, 9);
}

TEST(AttemptProgress, TellsTheMedianOfTheTimeWithoutWaiting) {
  AttemptProgress progress;
  const auto at = [&](std::int64_t step, std::int64_t step_us, std::int64_t wait_us) {
    return progress.take({{3, Said{step, step_us, wait_us, 0, std::nullopt, "train", {}}}});
  };
  EXPECT_TRUE(at(1, 900'000, 100'000));
  EXPECT_FALSE(at(1, 900'000, 100'000));
  EXPECT_TRUE(at(2, 500'000, 200'000));
  EXPECT_TRUE(at(3, 400'000, 0));
  const protocol::Progress report = progress.report(AttemptKey{JobId(7), 2});
  EXPECT_EQ(report.key.text(), "7.2");
  ASSERT_EQ(report.ranks.size(), 1u);
  EXPECT_EQ(report.ranks[0].rank, 3u);
  EXPECT_EQ(report.ranks[0].step, 3);
  EXPECT_EQ(report.ranks[0].busy_us, 400'000);
  EXPECT_EQ(report.ranks[0].phase, "train");
}

TEST_F(ProgressFiles, IsToldAtOnceAndThenNowAndThen) {
  wire::Loop loop;
  std::vector<protocol::Progress> told;
  ProgressWatch watch(
      loop, folder_, std::chrono::milliseconds(400),
      [&]() -> std::vector<ProgressWatch::Attempt> {
        return {{AttemptKey{JobId(1), 1}, "1.1.aa", "", {}}};
      },
      [&](const protocol::Progress& report) { told.push_back(report); });
  write("1.1.aa.0", "step=1\n");
  watch.start(/*shared=*/false);
  ASSERT_EQ(told.size(), 1u);
  write("1.1.aa.0", "step=2\n");
  ASSERT_TRUE(loop.run_until([&] { return told.size() == 2; }, std::chrono::seconds(20)));
  EXPECT_EQ(told[1].ranks[0].step, 2);
}

TEST_F(ProgressFiles, BlameIsToldAtOnceAndBeforeTheEnd) {
  wire::Loop loop;
  std::vector<protocol::Progress> told;
  const AttemptKey key{JobId(1), 1};
  ProgressWatch watch(
      loop, folder_, std::chrono::hours(1),
      [&]() -> std::vector<ProgressWatch::Attempt> {
        return {{key, "1.1.aa", "", {0}}};
      },
      [&](const protocol::Progress& report) { told.push_back(report); });
  write("1.1.aa.0", "step=1\n");
  watch.start(/*shared=*/false);
  ASSERT_EQ(told.size(), 1u);
  watch.last_words(key);
  EXPECT_EQ(told.size(), 1u);
  write("1.1.aa.0", "step=1 blamed=3\n");
  watch.last_words(key);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].ranks[0].blamed, (std::vector<Rank>{3}));
  watch.last_words(key);
  EXPECT_EQ(told.size(), 2u);
}

}  // namespace
}  // namespace dove::agent
