#include "agent/idle/use_watch.h"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

devices::DeviceSample sample_of(const std::string& uuid, std::optional<double> percent) {
  devices::DeviceSample sample;
  sample.uuid = uuid;
  if (percent) sample.values.emplace_back(devices::Field::kUtilization, *percent);
  sample.values.emplace_back(devices::Field::kMemoryUsed, 10);
  sample.values.emplace_back(devices::Field::kMemoryFree, 30);
  return sample;
}

class UseWatchTest : public testing::Test {
 protected:
  UseWatchTest() {
    UseWatch::Attempt attempt;
    attempt.key = {JobId(7), 1};
    attempt.mark = "nobody.7.1";
    attempt.cores = 2;
    attempt.gpus = {{0, "GPU-1"}, {5, "GPU-2"}};
    attempts_.push_back(attempt);
  }
  void look(std::optional<double> first, std::optional<double> second) {
    now_us_ += 10'000'000;
    watch_.saw({sample_of("GPU-1", first), sample_of("GPU-2", second)});
  }

  std::vector<UseWatch::Attempt> attempts_;
  std::deque<protocol::Use> told_;
  std::int64_t now_us_ = 0;
  UseWatch watch_{UseWatch::Host{
      [this] { return attempts_; }, [this] { return now_us_; }, [] { return std::int64_t{0}; },
      [](const std::string&, const std::function<void()>& work, const std::function<void()>& done) {
        work();
        done();
      },
      [this](protocol::Use said) { told_.push_back(said); }}};
};

TEST_F(UseWatchTest, TellsOfTheBusiestDeviceSinceItToldLast) {
  look(0, 0);
  EXPECT_TRUE(told_.empty()) << "nothing is known of the time before";
  look(20, 40);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].key, (AttemptKey{JobId(7), 1}));
  EXPECT_EQ(told_[0].span_us, 10'000'000);
  EXPECT_EQ(told_[0].gpu, 2000) << "the mean of both looks";
  EXPECT_EQ(told_[0].gpu_memory, 2500);
  EXPECT_EQ(told_[0].devices, (std::vector<protocol::DeviceUse>{{0, 1000}, {5, 2000}}));
  EXPECT_FALSE(told_[0].cpu) << "no process has the mark";
  look(0, 1);
  EXPECT_EQ(told_[1].gpu, 100);
}

TEST_F(UseWatchTest, ADeviceThatSaysNothingMayBeBusy) {
  look(0, 0);
  look(0, std::nullopt);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_FALSE(told_[0].gpu);
  EXPECT_EQ(told_[0].gpu_memory, 2500);
  EXPECT_EQ(told_[0].devices, (std::vector<protocol::DeviceUse>{{0, 0}}));
  look(0, 0);
  EXPECT_EQ(told_[1].gpu, 0);
}

TEST_F(UseWatchTest, WithoutDevicesThereIsNoWordOfThem) {
  attempts_[0].gpus.clear();
  look(0, 0);
  look(0, 0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_FALSE(told_[0].gpu);
  EXPECT_FALSE(told_[0].in_use);
}

// A /proc of a few files.
class ProcessUseTest : public testing::Test {
 protected:
  ProcessUseTest() {
    std::string name = fs::temp_directory_path() / "dove-proc-XXXXXX";
    proc_ = mkdtemp(name.data());
  }
  ~ProcessUseTest() override { fs::remove_all(proc_); }
  void process(int pid, int parent, int terminal, int ticks, const std::string& mark) {
    const fs::path directory = fs::path(proc_) / std::to_string(pid);
    fs::create_directory(directory);
    std::ofstream(directory / "stat") << pid << " (a (b) c) S " << parent << " 1 1 " << terminal
                                      << " -1 0 0 0 0 0 " << ticks << " 1 1 1 20 0 1 0 0";
    std::ofstream environment(directory / "environ");
    environment << "HOME=/" << '\0';
    if (!mark.empty()) environment << "DOVE_TASK_MARK=" << mark << '\0';
  }

  std::string proc_;
};

TEST_F(ProcessUseTest, CountsWhatBelongsToEachAttempt) {
  process(10, 1, 0, 97, "n1.7.1.task.0");
  process(11, 10, 5, 7, "");  // it has cleared its environment
  process(12, 1, 5, 7, "n1.7.1.e3f");
  process(13, 1, 0, 50, "n1.7.10.task.0");
  process(14, 1, 0, 50, "");
  const std::int64_t tick_us = 1'000'000 / sysconf(_SC_CLK_TCK);
  const auto found = read_process_use({"n1.7.1", "n1.8.1"}, proc_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("n1.7.1").cpu_us, 120 * tick_us);
  EXPECT_EQ(found.at("n1.7.1").terminal_us, 20 * tick_us);
}

TEST_F(ProcessUseTest, MarksOfOtherLengthsAreOthers) {
  process(10, 1, 0, 9, "n1.7.1");
  process(11, 1, 0, 9, "n1.7");
  EXPECT_TRUE(read_process_use({"n1.1000.1"}, proc_).empty());
  EXPECT_EQ(read_process_use({"n1.1000.1", "n1.7.1"}, proc_).size(), 1u);
}

}  // namespace
}  // namespace dove::agent
