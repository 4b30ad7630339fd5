#include "agent/attempts/attempts.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "agent/attempts/attempt_record.h"
#include "agent/tasks/null_runner.h"
#include "codec/json.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What a former life left on disk, and what the next one makes of it.
class AttemptsTest : public ::testing::Test {
 protected:
  AttemptsTest() {
    std::string pattern = ::testing::TempDir() + "attempts.XXXXXX";
    data_ = mkdtemp(pattern.data());
    fs::create_directories(data_ + "/attempts");
    fs::create_directories(data_ + "/finished");
    Attempts::Options options;
    options.data_dir = data_;
    options.mapped_users = false;
    attempts_ = std::make_unique<Attempts>(loop_, options, facts_, runner_, side_, streams_,
                                           secrets_, reports_);
  }
  ~AttemptsTest() override {
    attempts_.reset();
    fs::remove_all(data_);
  }

  static std::string order(std::uint64_t job) {
    ExecSpec exec;
    exec.command = {"true"};
    exec.environment = {{"TOKEN", "hunter2"}};
    Placement placement;
    placement.node = NodeId(1);
    placement.tasks.emplace_back();
    const Json peer{{"node", "n1"}, {"address", "127.0.0.1"}, {"node_rank", 0}, {"ranks", {0}}};
    return Json{{"seq", 11},
                {"epoch", 5},
                {"order", "launch"},
                {"job", job},
                {"attempt", 1},
                {"barrier", true},
                {"placement", codec::placement_json(placement)},
                {"placements", Json::array({peer})},
                {"spec", {{"name", "j"}, {"launch", "each_task"}, {"tasks", 1}}},
                {"exec", Json::parse(codec::encode_exec(exec))}}
        .dump();
  }
  std::string directory(const std::string& name) const { return data_ + "/attempts/" + name; }
  // An attempt's directory as an agent writes it.
  void write(const std::string& name, std::uint64_t job) const {
    const std::string text = order(job);
    const Result<LaunchOrder> read = read_launch_order(Json::parse(text), false);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_TRUE(write_attempt(directory(name), *read, text, "").ok());
  }
  void damage(const std::string& name, const std::string& record) const {
    fs::create_directories(directory(name));
    std::ofstream(directory(name) + "/record") << record;
  }
  static AttemptKey key(std::uint64_t job) { return {JobId(job), 1}; }
  int ends() {
    int count = 0;
    for (const protocol::Report& said : said_) {
      count += std::holds_alternative<protocol::Ended>(said) ||
                       std::holds_alternative<protocol::LaunchRefused>(said)
                   ? 1
                   : 0;
    }
    return count;
  }

  ReportQueue::Host host() {
    ReportQueue::Host host;
    host.has_news = [] { return false; };
    host.send = [this](std::uint64_t, std::vector<protocol::Report> batch) {
      said_.insert(said_.end(), batch.begin(), batch.end());
    };
    return host;
  }

  std::string data_;
  wire::Loop loop_;
  NullRunner runner_{loop_};
  AgentFacts facts_;
  SideThreads side_{loop_, 4};
  Uplink uplink_{loop_, {"n1", "", {{false, "127.0.0.1", 1, ""}}, "", ""}};
  TaskStreams streams_{loop_, uplink_, "n1"};
  SecretRequests secrets_{loop_, uplink_, [] { return false; }};
  std::vector<protocol::Report> said_;
  ReportQueue reports_{loop_, host()};
  std::unique_ptr<Attempts> attempts_;
};

TEST_F(AttemptsTest, TakesUpWhatIsWhole) {
  write("7.1", 7);
  attempts_->load();
  ASSERT_NE(attempts_->find(key(7)), nullptr);
  EXPECT_TRUE(attempts_->lives(key(7)));
  EXPECT_EQ(attempts_->find(key(8)), nullptr);
}

TEST_F(AttemptsTest, WhereNothingWasStartedNothingStays) {
  fs::create_directories(directory("7.1"));  // killed before the order was written
  damage("8.1", "");                         // while it was
  attempts_->load();
  EXPECT_TRUE(attempts_->active().empty());
  EXPECT_FALSE(fs::exists(directory("7.1")));
  EXPECT_FALSE(fs::exists(directory("8.1")));
}

// A task may run there, whatever became of the order.
TEST_F(AttemptsTest, WhereATaskWasStartedTheLossOfTheRecordIsAnEnd) {
  fs::create_directories(directory("7.1"));
  std::ofstream(directory("7.1") + "/task.r0") << "";
  attempts_->load();
  ASSERT_NE(attempts_->find(key(7)), nullptr);
  EXPECT_TRUE(attempts_->lives(key(7)));
  ASSERT_TRUE(loop_.run_until([&] { return !attempts_->lives(key(7)); }, std::chrono::seconds(10)));
  attempts_->forget(key(7));
  EXPECT_FALSE(fs::exists(data_ + "/finished/7.1/task.r0")) << "it holds the environment";
}

TEST_F(AttemptsTest, LeavesAloneWhatIsNobodysAttempt) {
  fs::create_directories(directory("lost+found"));
  fs::create_directories(directory("7"));
  std::ofstream(directory("notes.txt")) << "mine";
  attempts_->load();
  EXPECT_TRUE(attempts_->active().empty());
  EXPECT_TRUE(fs::exists(directory("lost+found")));
  EXPECT_TRUE(fs::exists(directory("7")));
  EXPECT_TRUE(fs::exists(directory("notes.txt")));
}

TEST_F(AttemptsTest, OneThatIsDamagedDoesNotHideTheOthers) {
  write("6.1", 6);
  fs::create_directories(directory("7.1"));
  write("8.1", 8);
  attempts_->load();
  EXPECT_NE(attempts_->find(key(6)), nullptr);
  EXPECT_EQ(attempts_->find(key(7)), nullptr);
  EXPECT_NE(attempts_->find(key(8)), nullptr);
}

// A record is as long as its job's script and environment, and a node may hold many.
TEST_F(AttemptsTest, ARecordIsReadOnce) {
  write("7.1", 7);
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, (directory("7.1") + "/record").c_str(), IN_OPEN | IN_CLOSE),
            0);
  attempts_->load();
  ASSERT_NE(attempts_->find(key(7)), nullptr);
  std::array<char, 1024> events{};
  EXPECT_EQ(read(watch, events.data(), events.size()), ssize_t{2 * sizeof(inotify_event)})
      << "opened and closed";
  close(watch);
}

// The directory's name counts: under another one its tasks would be looked for in vain.
TEST_F(AttemptsTest, AnOrderThatIsAnothersIsStoppedUnderTheDirectorysName) {
  write("7.1", 9);
  attempts_->load();
  EXPECT_EQ(attempts_->find(key(9)), nullptr);
  ASSERT_NE(attempts_->find(key(7)), nullptr);
  EXPECT_FALSE(attempts_->lives(key(7)));
  reports_.open();
  reports_.flush();
  EXPECT_EQ(ends(), 1);
}

TEST_F(AttemptsTest, WhatIsForgottenIsFinished) {
  write("7.1", 7);
  attempts_->load();
  attempts_->forget(key(7));  // it has not ended
  ASSERT_NE(attempts_->find(key(7)), nullptr);
  attempts_->stop(key(7), false, std::chrono::milliseconds(0));
  ASSERT_FALSE(attempts_->lives(key(7)));
  attempts_->forget(key(7));
  EXPECT_EQ(attempts_->find(key(7)), nullptr);
  EXPECT_FALSE(fs::exists(directory("7.1")));
  const AttemptOnDisk kept = read_attempt(data_ + "/finished/7.1");
  EXPECT_TRUE(kept.ended.has_value());
  EXPECT_EQ(kept.order.find("hunter2"), std::string::npos) << kept.order;
  // Where its output is can still be told.
  const Result<LaunchOrder> order = read_launch_order(Json::parse(kept.order), kept.has_network);
  EXPECT_TRUE(order.ok()) << order.error().message;
}

TEST_F(AttemptsTest, WhatIsNotHereIsAnsweredAsOver) {
  attempts_->stop(key(7), false, std::chrono::milliseconds(0));
  StepAttach attach;
  attach.key = key(7);
  attach.ranks = {0};
  attempts_->attach_step(attach);
  EXPECT_FALSE(attempts_->repeat(key(7)));
  reports_.open();
  reports_.flush();
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(std::get<protocol::Ended>(said_[0]).key, key(7));
  EXPECT_EQ(std::get<protocol::StepOver>(said_[1]).exits.at(0).cause, "step_lost");
}

TEST_F(AttemptsTest, TheDigestTellsStagesAndWhatIsOnItsWay) {
  const std::uint64_t none = attempts_->placements_hash({});
  const std::uint64_t on_its_way = attempts_->placements_hash({key(7)});
  EXPECT_NE(none, on_its_way);
  write("7.1", 7);
  attempts_->load();  // waits at its barrier, as if it were on its way still
  EXPECT_EQ(attempts_->placements_hash({}), on_its_way);
  attempts_->stop(key(7), false, std::chrono::milliseconds(0));
  EXPECT_EQ(attempts_->placements_hash({}), none);
}

}  // namespace
}  // namespace dove::agent
