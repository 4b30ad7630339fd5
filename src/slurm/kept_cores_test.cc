#include "slurm/kept_cores.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

// Two nodes of eight cores.
class KeptCoresTest : public testing::Test {
 protected:
  KeptCoresTest() {
    for (const char* name : {"n1", "n2"}) {
      seen_.nodes.emplace_back().name = name;
      seen_.nodes.back().cores_per_socket = 8;
    }
  }
  ReservationSeen& reserve(const char* name, std::vector<std::string> nodes, std::int64_t cores) {
    ReservationSeen& one = seen_.in_part.emplace_back();
    one.name = name;
    one.names = std::move(nodes);
    one.cores = cores;
    one.ends_s = 2000;
    return one;
  }
  JobSeen& job(const char* node, std::vector<int> cores, const char* reservation = "") {
    JobSeen& one = seen_.jobs.emplace_back();
    one.id = std::ssize(seen_.jobs);
    one.phase = JobPhase::kHolding;
    one.state = "RUNNING";
    one.reservation = reservation;
    one.allocations = {{node, std::move(cores), {}, 0}};
    return one;
  }
  std::vector<KeptCores> kept() const { return kept_cores(seen_); }

  Observed seen_;
};

TEST_F(KeptCoresTest, ThoseThatAreNamedAndThatNoJobHas) {
  EXPECT_TRUE(kept().empty());
  reserve("part", {"n1"}, 3).cores_of = {{"n1", {0, 1, 2}}};
  EXPECT_EQ(kept(), (std::vector<KeptCores>{{"part", "n1", {0, 1, 2}, 2000}}));
  job("n1", {1}, "part");
  EXPECT_EQ(kept()[0].cores, (std::vector<int>{0, 2})) << "it is known with its own job";
  job("n1", {0, 2}, "part");
  EXPECT_TRUE(kept().empty());
}

TEST_F(KeptCoresTest, WhereNoneAreNamedItIsAsManyOfTheOpenOnes) {
  job("n1", {7, 0});
  reserve("tres", {"n1"}, 3);
  EXPECT_EQ(kept(), (std::vector<KeptCores>{{"tres", "n1", {4, 5, 6}, 2000}}));
  job("n1", {6, 5}, "tres");
  EXPECT_EQ(kept()[0].cores, std::vector<int>{4}) << "its job has the others";
  seen_.jobs[1].phase = JobPhase::kEnded;
  seen_.nodes[0].cores_set_aside = 2;
  EXPECT_EQ(kept()[0].cores, (std::vector<int>{3, 4, 5})) << "the last are Slurm's";
}

// CoreCnt=3,1 is 4, for Slurm's own output.
TEST_F(KeptCoresTest, OnSeveralNodesEachGivesAsManyAsItMayHaveTo) {
  reserve("parts", {"n1", "n2"}, 4);
  EXPECT_EQ(kept(), (std::vector<KeptCores>{{"parts", "n1", {5, 6, 7}, 2000},
                                            {"parts", "n2", {5, 6, 7}, 2000}}));
}

TEST_F(KeptCoresTest, TwoReservationsHaveNoCoreInCommon) {
  reserve("tres", {"n1"}, 2);
  reserve("part", {"n1"}, 2).cores_of = {{"n1", {6, 7}}};
  EXPECT_EQ(kept(),
            (std::vector<KeptCores>{{"part", "n1", {6, 7}, 2000}, {"tres", "n1", {4, 5}, 2000}}));
}

// Whoever has them now may be gone when it begins.
TEST_F(KeptCoresTest, ThoseOfOneThatIsToComeSayWhenItBegins) {
  reserve("now", {"n1"}, 1).cores_of = {{"n1", {0}}};
  reserve("named", {"n1"}, 2).cores_of = {{"n1", {1, 2}}};
  reserve("any", {"n2", "n3"}, 4);
  for (std::size_t i = 1; i < 3; ++i) {
    seen_.in_part[i].starts_s = 1500;
    seen_.in_part_later.push_back(seen_.in_part[i]);
  }
  seen_.in_part.resize(1);
  job("n1", {1});
  job("n2", {7});
  seen_.nodes[1].cores_set_aside = 1;
  EXPECT_EQ(kept(), (std::vector<KeptCores>{{"now", "n1", {0}, 2000},
                                            {"named", "n1", {1, 2}, 2000, 1500},
                                            {"any", "n2", {4, 5, 6}, 2000, 1500}}));
}

TEST_F(KeptCoresTest, ASuspendedJobHasNoCores) {
  reserve("part", {"n1"}, 1).cores_of = {{"n1", {3}}};
  job("n1", {3}).state = "SUSPENDED";
  EXPECT_EQ(kept().size(), 1u);
}

}  // namespace
}  // namespace dove::slurm
