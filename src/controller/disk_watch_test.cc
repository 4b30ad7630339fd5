#include "controller/disk_watch.h"

#include <gtest/gtest.h>

#include "controller/controller_fixture.h"
#include "policies/standard.h"
#include "store/memory/memory_store.h"

namespace dove::controller {
namespace {

// A controller whose log is on a disk that cannot be looked at, as a database's, run by hand.
struct Elsewhere {
  Elsewhere() : controller(log, store, backend, with_time()) {
    const Result<void> opened = controller.open();
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    controller.start_by_hand([] {});
  }
  ~Elsewhere() { controller.stop(); }

  ControllerOptions with_time() {
    ControllerOptions options = test_options(policies);
    options.monotonic = [this] { return steady_us; };
    return options;
  }
  Result<Committed> submit(Input input) {
    std::optional<Result<Committed>> answer;
    controller.submit(std::move(input),
                      [&](Result<Committed> result) { answer = std::move(result); });
    controller.work();
    return *answer;
  }
  Result<Committed> submit(const std::string& name) { return submit(submission(small_job(name))); }
  Result<Committed> cancel(JobId job) {
    Input relief;
    relief.kind = InputKind::kRelief;
    relief.events.push_back(StampedEvent{JobCancelRequested{job}, {}});
    return submit(std::move(relief));
  }

  core::Policies policies = policies::standard_policies();
  std::int64_t steady_us = 1'000'000;
  store::MemoryStore store;
  FaultyLog log{store};
  FakeBackend backend;
  Controller controller;
};

TEST(DiskWatch, ADiskElsewhereIsFullUntilAnAppendSucceeds) {
  Elsewhere of;
  ASSERT_TRUE(of.submit("first").ok());
  of.log.fail_appends(1);
  const auto refused = of.submit("second");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "disk_full");
  EXPECT_EQ(refused.error().message,
            "the disk of the controllers' database is full; nothing was accepted, make room there "
            "and try again");
  ASSERT_TRUE(of.controller.shortage().has_value());
  EXPECT_EQ(of.controller.shortage()->message, refused.error().message);
  const Seq before = of.store.head().seq;
  of.steady_us += 999;
  EXPECT_EQ(of.controller.work(), 1);
  EXPECT_EQ(of.submit("third").error().code, "disk_full");
  EXPECT_EQ(of.store.head().seq, before);
  of.steady_us += 1;
  of.controller.work();  // nobody asks for anything
  EXPECT_FALSE(of.controller.shortage().has_value());
  const auto fourth = of.submit("fourth");
  ASSERT_TRUE(fourth.ok());
  EXPECT_EQ(fourth->first_job, JobId(2)) << "what was refused is not in the log";
}

// Each try that fails makes the controller read its state back.
TEST(DiskWatch, ADiskElsewhereIsTriedMoreAndMoreRarely) {
  Elsewhere of;
  of.log.fail_appends(7);
  EXPECT_FALSE(of.submit("first").ok());
  for (const std::int64_t wait_us : {1'000, 2'000, 4'000, 8'000, 16'000, 16'000}) {
    ASSERT_TRUE(of.controller.shortage().has_value());
    of.steady_us += wait_us - 1;
    EXPECT_EQ(of.controller.work(), 1);
    of.steady_us += 1;
    of.controller.work();
  }
  of.steady_us += 16'000;
  of.controller.work();
  EXPECT_FALSE(of.controller.shortage().has_value());
  of.log.fail_appends(1);
  EXPECT_FALSE(of.submit("second").ok());
  of.steady_us += 1'000;
  of.controller.work();
  EXPECT_FALSE(of.controller.shortage().has_value()) << "it begins anew after a success";
}

// It keeps nothing for relief, which would be a try that reads the state back each time.
TEST(DiskWatch, ADiskElsewhereIsNotTriedBeforeItsTimeForRelief) {
  Elsewhere of;
  ASSERT_TRUE(of.submit("first").ok());
  of.log.fail_appends(3);
  EXPECT_FALSE(of.submit("second").ok());
  for (const std::int64_t wait_us : {1'000, 2'000, 4'000}) {
    of.steady_us += wait_us / 2;
    const auto refused = of.cancel(JobId(1));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, "disk_full");
    EXPECT_TRUE(of.controller.shortage().has_value());
    of.steady_us += wait_us / 2;
    of.controller.work();
  }
  EXPECT_FALSE(of.controller.shortage().has_value());
  ASSERT_TRUE(of.cancel(JobId(1)).ok());
  EXPECT_FALSE(of.controller.shortage().has_value()) << "it stays so";
  EXPECT_TRUE(of.submit("third").ok());
}

}  // namespace
}  // namespace dove::controller
