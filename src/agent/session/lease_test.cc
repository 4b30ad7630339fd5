#include "agent/session/lease.h"

#include "agent/tasks/shim_test_bed.h"

namespace dove::agent {
namespace {

class LeaseTest : public ShimTestBed {
 protected:
  ShimConfig fenced(const std::string& script) const {
    ShimConfig config = shell(script);
    config.lease_path = dir("lease");
    return config;
  }
};

TEST_F(LeaseTest, IsKeptInItsFile) {
  EXPECT_EQ(read_lease_us(dir("lease")), 0);
  {
    Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(writer->deadline_us(), 0);
    writer->renew(77);
  }
  EXPECT_EQ(read_lease_us(dir("lease")), 77);
  EXPECT_EQ(LeaseWriter::open(dir("lease"))->deadline_us(), 77);
}

TEST_F(LeaseTest, ADeadlineFromBeforeARebootIsCleared) {
  LeaseWriter::open(dir("lease"))->renew(boottime_us() + 90'000'000'000);
  EXPECT_EQ(LeaseWriter::open(dir("lease"))->deadline_us(), 0);
}

TEST_F(LeaseTest, TheTaskIsOverByTheDeadline) {
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  const std::int64_t deadline_us = boottime_us() + 400'000;
  writer->renew(deadline_us);
  ShimHandle handle = spawn(fenced("trap '' TERM; while :; do sleep 1; done"));
  const ShimStatus status = end_of(handle);
  EXPECT_TRUE(status.fenced());
  EXPECT_FALSE(status.killed_by_agent());
  EXPECT_EQ(status.record.exit_signal, SIGKILL);
  EXPECT_GE(status.record.ended_boottime_us, deadline_us);
}

TEST_F(LeaseTest, TheTaskIsWarnedBeforeTheDeadline) {
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  const std::int64_t deadline_us = boottime_us() + 4'000'000;
  writer->renew(deadline_us);
  ShimConfig config = fenced("trap 'exit 3' TERM; while :; do sleep 0.01; done");
  config.fence_grace_ms = 3'900;  // more than a quarter of the lease: 1 s is what it gets
  const ShimStatus status = run(config);
  EXPECT_TRUE(status.fenced());
  EXPECT_EQ(status.record.exit_code, 3);
  EXPECT_GT(status.record.ended_boottime_us, deadline_us - 2'000'000);
  EXPECT_LT(status.record.ended_boottime_us, deadline_us);
}

TEST_F(LeaseTest, ARenewedLeaseLetsTheTaskRun) {
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  writer->renew(boottime_us() + 500'000);
  const std::int64_t until_us = boottime_us() + 1'500'000;
  ShimHandle handle = spawn(fenced("while ! [ -e end ]; do sleep 0.01; done; exit 8"));
  while (boottime_us() < until_us) {
    writer->renew(boottime_us() + 500'000);
    EXPECT_FALSE(handle.reap(20));
  }
  writer->renew(boottime_us() + 20'000'000);
  std::ofstream(dir("end")) << "";
  const ShimStatus status = end_of(handle);
  EXPECT_EQ(status.record.exit_code, 8);
  EXPECT_FALSE(status.fenced());
}

TEST_F(LeaseTest, ALeaseThatRanOutStartsNothing) {
  LeaseWriter::open(dir("lease"))->renew(1);
  const ShimStatus status = run(fenced("echo started"));
  EXPECT_TRUE(status.fenced());
  EXPECT_EQ(status.record.started_boottime_us, 0);
  EXPECT_EQ(read("out"), "");
}

TEST_F(LeaseTest, AMissingLeaseIsAllowedForAWhile) {
  ShimConfig config = fenced("while :; do sleep 0.01; done");
  config.lease_allowance_ms = 300;
  const ShimStatus status = run(config);
  EXPECT_TRUE(status.fenced());
  EXPECT_GT(status.record.started_boottime_us, 0);
}

TEST_F(LeaseTest, AHeldTaskIsFencedToo) {
  LeaseWriter::open(dir("lease"))->renew(boottime_us() + 200'000);
  ShimConfig config = fenced("echo started");
  config.hold = true;
  ShimHandle handle = spawn(config);
  const ShimStatus status = end_of(handle);
  EXPECT_TRUE(status.fenced());
  EXPECT_EQ(read("out"), "");
}

}  // namespace
}  // namespace dove::agent
