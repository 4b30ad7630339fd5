#include "core/admit/admit_times.h"

#include <gtest/gtest.h>

#include "core/place/reservation.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitTimes : public testing::Test {
 protected:
  void reserve(const char* name, std::int64_t from_s, std::int64_t to_s) {
    Reservation made;
    made.name = name;
    made.nodes = {"n1"};
    made.starts_at = in(from_s);
    made.ends_at = in(to_s);
    made.users = {"ann"};
    cluster.declare(made);
  }
  Reservation& reservation(const char* name) { return cluster.state.reservations.at(name); }
  JobSpec inside(const Ask& ask = {}) const {
    JobSpec spec = spec_of(ask);
    spec.reservation = "r";
    return spec;
  }
  static JobSpec until(Instant deadline, std::int64_t limit_s) {
    JobSpec spec = spec_of({.limit_s = limit_s});
    spec.deadline = deadline;
    return spec;
  }
  std::string refused(const JobSpec& spec) const {
    const Result<void> admitted = admit_times(cluster.state, spec);
    return admitted ? "" : admitted.error().code;
  }
  std::string message(const JobSpec& spec) const {
    return admit_times(cluster.state, spec).error().message;
  }
  bool says(const JobSpec& spec, const char* part) const {
    return message(spec).find(part) != std::string::npos;
  }
  Instant in(std::int64_t s) const { return cluster.state.now + seconds(s); }

  TestCluster cluster{1};
};

TEST_F(AdmitTimes, AJobWithoutEitherMay) {
  EXPECT_EQ(refused(spec_of({})), "");
  EXPECT_EQ(refused(spec_of({.limit_s = 1'000'000})), "");
}

TEST_F(AdmitTimes, AnUnknownReservationIsRefusedWithThoseThatCanBeNamed) {
  EXPECT_EQ(refused(inside()), "reservation_unknown");
  EXPECT_TRUE(says(inside(), "there are none"));
  for (const char* name : {"course", "demo", "outage", "spares"}) reserve(name, 0, 100);
  reservation("outage").outage = true;
  reservation("spares").spares_for = 4;
  EXPECT_EQ(message(inside()), "there is no reservation \"r\": known are course, demo");
}

TEST_F(AdmitTimes, OnlyThoseWhomItListsAreLetIn) {
  reserve("r", 0, 1000);
  EXPECT_EQ(refused(inside({.limit_s = 60})), "");
  EXPECT_EQ(refused(inside({.user = "bob", .limit_s = 60})), "reservation_denied");
  reservation("r").spares_for = 2;
  EXPECT_EQ(refused(inside({.limit_s = 60})), "reservation_denied");
  EXPECT_TRUE(says(inside({.limit_s = 60}), "spare nodes"));
}

TEST_F(AdmitTimes, AJobThatFillsItsReservationExactlyMay) {
  reserve("r", 100, 1000);
  const Span most = latest_end(cluster.state, inside()) - in(100);
  const std::int64_t most_s = most.us / 1'000'000;
  EXPECT_EQ(refused(inside({.limit_s = most_s})), "");
  EXPECT_EQ(refused(inside({.limit_s = most_s + 1})), "reservation_too_short");
  cluster.pass(seconds(100));
  EXPECT_EQ(refused(inside({.limit_s = most_s})), "");
  cluster.pass(seconds(1));
  EXPECT_EQ(refused(inside({.limit_s = most_s})), "reservation_too_short");
  EXPECT_EQ(refused(inside({.limit_s = most_s - 1})), "");
}

TEST_F(AdmitTimes, ABeginInsideTheReservationCounts) {
  reserve("r", 0, 1000);
  JobSpec spec = inside({.limit_s = 400});
  spec.begin_at = in(500);
  EXPECT_EQ(refused(spec), "");
  spec.begin_at = in(600);
  EXPECT_EQ(refused(spec), "reservation_too_short");
}

TEST_F(AdmitTimes, WithoutALimitItOnlyHasToBeginInside) {
  reserve("r", 0, 1000);
  EXPECT_EQ(refused(inside()), "");
  cluster.pass(seconds(1000));
  EXPECT_EQ(refused(inside()), "reservation_too_short");
  EXPECT_TRUE(says(inside(), "0 s are left"));
}

TEST_F(AdmitTimes, ThePoolsLimitHoldsForAJobWithoutOne) {
  reserve("r", 0, 1000);
  cluster.state.pools.at("default").time_limit_default = seconds(2000);
  EXPECT_EQ(refused(inside()), "reservation_too_short");
  EXPECT_EQ(refused(inside({.limit_s = 60})), "");
}

TEST_F(AdmitTimes, ADeadlineIsMetExactly) {
  EXPECT_EQ(refused(until(in(60), 60)), "");
  EXPECT_EQ(refused(until(in(59), 60)), "deadline_too_near");
  EXPECT_TRUE(says(until(in(59), 60), "the deadline leaves 59 s, and the job may run for 60 s"));
}

TEST_F(AdmitTimes, ALaterBeginLeavesLessOfIt) {
  JobSpec spec = until(in(100), 60);
  spec.begin_at = in(40);
  EXPECT_EQ(refused(spec), "");
  spec.begin_at = in(41);
  EXPECT_EQ(refused(spec), "deadline_too_near");
}

TEST_F(AdmitTimes, ADeadlineThatIsOverIsTooNearForAnything) {
  EXPECT_EQ(refused(until(in(1), 0)), "");
  EXPECT_EQ(refused(until(in(0), 0)), "deadline_too_near");
  EXPECT_TRUE(says(until(in(-5), 0), "leaves 0 s"));
}

}  // namespace
}  // namespace dove::core
