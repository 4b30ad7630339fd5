#include "core/executors/unwatched_news.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class UnwatchedNews : public testing::Test {
 protected:
  UnwatchedNews() {
    cluster.state.level = kNewestLevel;
    cluster.declare(executor);
  }
  void tell(const Observation& said) {
    for (const Event& event : news(cluster.state, executor, said)) cluster.tell(event);
  }
  static bool resumes(const std::vector<Event>& events) {
    return !events.empty() && std::holds_alternative<ForeignWatchResumed>(events.front());
  }
  static Observation running(const char* id) {
    Observation said;
    said.allocations.push_back({"n1", {}});
    said.allocations[0].allocation.id = id;
    said.allocations[0].allocation.account = "lab";
    return said;
  }
  const ExecutorStanding& standing() const { return cluster.state.standings.at("slurm"); }

  TestCluster cluster{1, {.gpus = 4}};
  Executor executor{"slurm", "", {"n1"}, true, {{"lab", "default"}}};
};

TEST_F(UnwatchedNews, TheFirstReportAfterAnAbsenceSaysSo) {
  EXPECT_TRUE(resumes(news(cluster.state, executor, {}))) << "it is the first of all";
  tell({});
  EXPECT_EQ(standing().watched_until, cluster.state.now);
  EXPECT_TRUE(news(cluster.state, executor, {}).empty());
  Observation begins;
  begins.begins = true;
  EXPECT_TRUE(resumes(news(cluster.state, executor, begins)));
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kMute, ""});
  EXPECT_TRUE(resumes(news(cluster.state, executor, {})));
  begins.complete = false;
  EXPECT_TRUE(news(cluster.state, executor, begins).empty()) << "it does not know what runs";
}

TEST_F(UnwatchedNews, AFormerLevelHoldsNoneOfIt) {
  cluster.state.level = kFirstLevel;
  Observation begins;
  begins.begins = true;
  EXPECT_FALSE(resumes(news(cluster.state, executor, begins)));
}

TEST_F(UnwatchedNews, OfThePastOnlyWhatIsNotChargedOtherwiseIsNews) {
  tell({});
  cluster.pass(seconds(1000));
  Observation back = running("7");
  back.begins = true;
  tell(back);
  const Unwatched* gap = first_unwatched(cluster.state, "slurm");
  ASSERT_NE(gap, nullptr);
  const auto use = [&](const char* id, const char* account) {
    return ForeignUse{id, account, gap->from, gap->to, 1, 0, 0};
  };
  Observation said = running("7");
  said.past =
      SaidPast{gap->to, gap->from, gap->to, {use("7", "lab"), use("8", "lab"), use("9", "guests")}};
  const std::vector<Event> events = news(cluster.state, executor, said);
  ASSERT_EQ(events.size(), 1u);
  const auto& found = std::get<ForeignUseFound>(events[0]);
  ASSERT_EQ(found.uses.size(), 1u);
  EXPECT_EQ(found.uses[0].id, "8");
  cluster.tell(events[0]);
  EXPECT_TRUE(news(cluster.state, executor, said).empty()) << "it was settled";
  EXPECT_EQ(first_unwatched(cluster.state, "slurm"), nullptr);
}

TEST_F(UnwatchedNews, AJobThatRunsAgainHadEndedAllTheSame) {
  tell({});
  tell(running("7"));
  cluster.pass(seconds(1000));
  Observation back;
  back.begins = true;
  tell(back);
  tell(running("7"));
  const Unwatched* gap = first_unwatched(cluster.state, "slurm");
  ASSERT_NE(gap, nullptr);
  Observation said = running("7");
  said.past = SaidPast{
      gap->to, gap->from, gap->to, {{"7", "lab", gap->from, gap->from + seconds(9), 1, 0, 0}}};
  const std::vector<Event> events = news(cluster.state, executor, said);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ForeignUseFound>(events[0]).uses.size(), 1u);
}

}  // namespace
}  // namespace dove::core
