#include "agent/session/lease.h"

#include <cstring>

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

TEST_F(LeaseTest, ABitThatFlippedIsNotBelieved) {
  const std::int64_t until_us = boottime_us() + 60'000'000;
  LeaseWriter::open(dir("lease"))->renew(until_us);
  const std::string whole = read("lease");
  ASSERT_EQ(whole.size(), sizeof(shim::LeaseFile));
  int believed = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::ofstream(dir("lease"), std::ios::binary) << damaged;
    const std::int64_t read_us = read_lease_us(dir("lease"));
    EXPECT_TRUE(read_us == until_us || read_us == 0) << bit;
    if (read_us != until_us) continue;
    EXPECT_GE(bit, 64U) << "the deadline itself";
    ++believed;
  }
  EXPECT_EQ(believed, 64) << "the check of the deadline before this one counts no more";
}

TEST_F(LeaseTest, ADamagedFileIsNoLeaseUntilItIsRenewed) {
  LeaseWriter::open(dir("lease"))->renew(77);
  std::string damaged = read("lease");
  damaged[5] = static_cast<char>(damaged[5] ^ 1);
  std::ofstream(dir("lease"), std::ios::binary) << damaged;
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->deadline_us(), 0);
  writer->renew(78);
  EXPECT_EQ(read_lease_us(dir("lease")), 78);
}

TEST_F(LeaseTest, AFormerVersionsFileGoesOn) {
  const std::int64_t until_us = boottime_us() + 60'000'000;
  std::ofstream(dir("lease"), std::ios::binary)
      .write(reinterpret_cast<const char*>(&until_us), sizeof until_us);
  EXPECT_EQ(read_lease_us(dir("lease")), until_us) << "its agent runs";
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->deadline_us(), until_us);
  EXPECT_EQ(read_lease_us(dir("lease")), until_us);
  writer->renew(until_us + 1);
  const std::string now = read("lease");
  EXPECT_EQ(now.size(), sizeof(shim::LeaseFile));
  std::int64_t first_us = 0;
  std::memcpy(&first_us, now.data(), sizeof first_us);
  EXPECT_EQ(first_us, until_us + 1) << "its shims read it";
}

TEST_F(LeaseTest, AnAgentOfAFormerVersionMayBeNext) {
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  const std::int64_t first_us = boottime_us() + 2'000'000;
  writer->renew(first_us);
  ShimHandle handle = spawn(fenced("touch began; while ! [ -e end ]; do sleep 0.01; done; exit 8"));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(dir("began")); }));
  writer->leave();
  EXPECT_EQ(read("lease").size(), sizeof first_us);
  EXPECT_EQ(read_lease_us(dir("lease")), first_us);
  // It stores its deadlines in the place of ours, and no more.
  const std::int64_t next_us = boottime_us() + 60'000'000;
  std::fstream(dir("lease"), std::ios::binary | std::ios::in | std::ios::out)
      .write(reinterpret_cast<const char*>(&next_us), sizeof next_us);
  EXPECT_EQ(read_lease_us(dir("lease")), next_us);
  while (boottime_us() < first_us + 100'000) ASSERT_FALSE(handle.reap(20));
  EXPECT_EQ(LeaseWriter::open(dir("lease"))->deadline_us(), next_us) << "and this version again";
  std::ofstream(dir("end")) << "";
  const ShimStatus status = end_of(handle);
  EXPECT_EQ(status.record.exit_code, 8);
  EXPECT_FALSE(status.fenced());
}

// Behind what this version knows; its shims run on under this version's agent.
TEST_F(LeaseTest, WhatALaterVersionAppendsIsPassedOver) {
  const std::int64_t until_us = boottime_us() + 60'000'000;
  LeaseWriter::open(dir("lease"))->renew(until_us);
  std::ofstream(dir("lease"), std::ios::binary | std::ios::app) << "more";
  EXPECT_EQ(read_lease_us(dir("lease")), until_us);
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->deadline_us(), until_us);
  writer->renew(until_us + 1);
  EXPECT_EQ(read_lease_us(dir("lease")), until_us + 1);
  EXPECT_TRUE(read("lease").ends_with("more"));
}

TEST_F(LeaseTest, AWriterThatEndsBetweenItsStoresLeavesTheFormerDeadline) {
  LeaseWriter::open(dir("lease"))->renew(77);
  for (const int next : {78, 79}) {
    std::string stored = read("lease");
    shim::LeaseFile file;
    std::memcpy(&file, stored.data(), sizeof file);
    const int older = file.checks[0] == shim::lease_check(next - 1) ? 1 : 0;
    file.checks[older] = shim::lease_check(next);
    stored.assign(reinterpret_cast<const char*>(&file), sizeof file);
    std::ofstream(dir("lease"), std::ios::binary) << stored;
    EXPECT_EQ(read_lease_us(dir("lease")), next - 1);
    Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
    EXPECT_EQ(writer->deadline_us(), next - 1);
    writer->renew(next);
    EXPECT_EQ(read_lease_us(dir("lease")), next);
  }
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

TEST_F(LeaseTest, TheTaskIsOverByTheDeadlineThatWasReadBeforeDamage) {
  Result<LeaseWriter> writer = LeaseWriter::open(dir("lease"));
  writer->renew(boottime_us() + 5'000'000);
  ShimHandle handle = spawn(fenced("touch began; while :; do sleep 0.01; done"));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(dir("began")); }));
  std::fstream file(dir("lease"), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(6);  // days ahead
  file.put(1);
  file.close();
  EXPECT_TRUE(end_of(handle).fenced());
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
