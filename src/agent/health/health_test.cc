// Health: checks, emulated faults, tests and remedies, with real programs.
#include "agent/health/health.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::milliseconds;

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    folder_ = fs::path(::testing::TempDir()) /
              ("health-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "checks");
    fs::create_directories(folder_ / "hooks");
    options_.node = "n1";
    options_.data_dir = folder_;
    options_.shared_directory = folder_;
    options_.checks_directory = folder_ / "checks";
    options_.hooks_directory = folder_ / "hooks";
    options_.faults_path = folder_ / "faults";
    options_.every = milliseconds(50);
  }
  ~HealthTest() override { fs::remove_all(folder_); }

  void program(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  std::function<void(protocol::Report)> take() {
    return [this](const protocol::Report& said) {
      reports_.push_back(Json::parse(protocol::report_text(said)));
    };
  }

  // The first report of that kind and, of findings, that check that is not good.
  Json wait_for(const std::string& kind, const std::string& check = "") {
    Json found;
    loop_.run_until(
        [&] {
          for (const Json& one : reports_) {
            if (one.at("kind") != kind) continue;
            if (kind == "finding" && (one.at("check") != check || one.at("severity") == "good")) {
              continue;
            }
            found = one;
          }
          return !found.is_null();
        },
        milliseconds(20'000));
    return found;
  }

  wire::Loop loop_;
  fs::path folder_;
  HealthOptions options_;
  std::vector<Json> reports_;
};

TEST_F(HealthTest, AProgramsExitAndFirstLineAreAFinding) {
  program("checks/fan", "echo it is slow; echo more; exit 2");
  Health health(loop_, options_, take());
  health.start();
  const Json found = wait_for("finding", "script:fan");
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found.at("severity"), "fault");
  EXPECT_EQ(found.at("evidence"), "it is slow");
}

TEST_F(HealthTest, AProgramThatHangsIsAFaultAndLeavesNothing) {
  options_.check_limit = milliseconds(200);
  program("checks/hangs", "sleep 300 & wait");
  Health health(loop_, options_, take());
  health.start();
  const Json found = wait_for("finding", "script:hangs");
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found.at("severity"), "fault");
  EXPECT_NE(found.at("evidence").get<std::string>().find("too long"), std::string::npos);
}

TEST_F(HealthTest, ADirectoryOfChecksThatCannotBeReadIsAFaultAndOneThatIsMissingHasNone) {
  fs::remove(folder_ / "checks");
  std::ofstream(folder_ / "checks") << "no directory";
  Health health(loop_, options_, take());
  health.start();
  const Json found = wait_for("finding", "checks");
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found.at("severity"), "fault");
  EXPECT_NE(found.at("evidence").get<std::string>().find("cannot be read"), std::string::npos);
  fs::remove(folder_ / "checks");
  const auto is_good = [](const Json& one) {
    return one.value("check", "") == "checks" && one.at("severity") == "good";
  };
  EXPECT_TRUE(
      loop_.run_until([&] { return std::any_of(reports_.begin(), reports_.end(), is_good); },
                      milliseconds(20'000)));
}

TEST_F(HealthTest, ADirectoryOfChecksThatDoesNotAnswerIsAFaultUntilItDoes) {
  program("checks/fan", "echo it is slow; exit 2");
  bool answers = false;
  std::vector<wire::Timer> timers;
  options_.aside = [&](const std::string&, milliseconds, const std::function<void()>& work,
                       const std::function<void(bool)>& done) {
    if (answers) work();
    timers.push_back(loop_.after(milliseconds(1), [&answers, done] { done(answers); }));
  };
  Health health(loop_, options_, take());
  health.start();
  const Json found = wait_for("finding", "checks");
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found.at("severity"), "fault");
  EXPECT_NE(
      found.at("evidence").get<std::string>().find(options_.checks_directory + " has not answered"),
      std::string::npos);
  health.remedy("reset");
  EXPECT_NE(wait_for("remedy_ended").at("why").get<std::string>().find("has not answered"),
            std::string::npos);
  answers = true;
  EXPECT_FALSE(wait_for("finding", "script:fan").is_null());
  const bool is_good = std::any_of(reports_.begin(), reports_.end(), [](const Json& one) {
    return one.at("kind") == "finding" && one.at("check") == "checks" &&
           one.at("severity") == "good";
  });
  EXPECT_TRUE(is_good);
}

TEST_F(HealthTest, EmulatedFaultsComeAndGoWithTheirFile) {
  Health health(loop_, options_, take());
  health.start();
  std::ofstream(folder_ / "new") << R"([{"check": "xid_79", "severity": "critical", "device": 1}])";
  fs::rename(folder_ / "new", folder_ / "faults");
  EXPECT_EQ(wait_for("finding", "xid_79").at("device"), 1);
  fs::remove(folder_ / "faults");
  const bool over = loop_.run_until(
      [&] {
        return reports_.back().at("check") == "xid_79" && reports_.back().at("severity") == "good";
      },
      milliseconds(20'000));
  EXPECT_TRUE(over);
}

TEST_F(HealthTest, AFileOfFaultsThatDoesNotAnswerHoldsUpNobody) {
  std::ofstream(folder_ / "faults")
      << R"([{"check": "xid_79", "severity": "critical", "device": 1}])";
  bool answers = false;
  std::vector<wire::Timer> timers;
  options_.aside = [&](const std::string& lane, milliseconds, const std::function<void()>& work,
                       const std::function<void(bool)>& done) {
    const bool in_time = answers || lane != options_.faults_path;
    if (in_time) work();
    timers.push_back(loop_.after(milliseconds(1), [in_time, done] { done(in_time); }));
  };
  program("checks/fan", "echo it is slow; exit 2");
  Health health(loop_, options_, take());
  health.start();
  EXPECT_FALSE(wait_for("finding", "script:fan").is_null());
  EXPECT_TRUE(std::none_of(reports_.begin(), reports_.end(),
                           [](const Json& one) { return one.value("check", "") == "xid_79"; }));
  answers = true;
  EXPECT_EQ(wait_for("finding", "xid_79").at("device"), 1);
}

TEST_F(HealthTest, ATestFailsWithTheEvidenceOfWhatIsBroken) {
  program("checks/memory", "echo bits flip; exit 3");
  Health health(loop_, options_, take());
  health.start();
  health.test();
  const Json tested = wait_for("tested");
  ASSERT_FALSE(tested.is_null());
  EXPECT_FALSE(tested.at("passed").get<bool>());
  EXPECT_NE(tested.at("evidence").get<std::string>().find("bits flip"), std::string::npos);
}

TEST_F(HealthTest, ARemedyIsTheOperatorsProgramAndItsAbsenceIsSaid) {
  program("hooks/reset", "echo reset $1");
  Health health(loop_, options_, take());
  health.remedy("reset");
  const Json ended = wait_for("remedy_ended");
  ASSERT_FALSE(ended.is_null());
  EXPECT_TRUE(ended.at("done").get<bool>());
  EXPECT_EQ(ended.at("why"), "reset n1");
  reports_.clear();
  health.remedy("upgrade");
  EXPECT_FALSE(wait_for("remedy_ended").at("done").get<bool>());
}

}  // namespace
}  // namespace dove::agent
