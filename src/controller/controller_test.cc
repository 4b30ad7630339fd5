#include "controller/controller.h"

#include <gtest/gtest.h>

#include "controller/controller_fixture.h"
#include "core/state/invariants.h"
#include "policies/standard.h"
#include "store/memory/memory_store.h"

namespace dove::controller {
namespace {

using backends::OrderKind;

struct Running {
  explicit Running(store::MemoryStore& store,
                   ControllerOptions options = test_options(policies::standard_policies()))
      : log(store), controller(log, store, backend, std::move(options)) {
    const Result<void> opened = controller.open();
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    reopened = backend.take();
    controller.subscribe([this](const auto& batch) {
      const std::lock_guard lock(mutex);
      batches.push_back(batch);
    });
    controller.start();
  }
  ~Running() { controller.stop(); }

  std::size_t batch_count() {
    const std::lock_guard lock(mutex);
    return batches.size();
  }

  FaultyLog log;
  FakeBackend backend;
  Controller controller;
  std::vector<backends::Order> reopened;  // what open() had carried out
  std::mutex mutex;
  std::vector<std::shared_ptr<const CommittedBatch>> batches;
};

TEST(Controller, AnAnswerIsDurableAndItsOrdersAreOut) {
  store::MemoryStore store;
  Running running(store);
  const NodeId node = add_node(running.controller, "n1", 1);
  const Result<Committed> answer = submit_and_wait(running.controller, submission(small_job()));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->first_job, JobId(1));
  EXPECT_EQ(answer->jobs, 1);
  EXPECT_EQ(store.head().seq, answer->head);
  EXPECT_EQ(*store.blob("exec").value(), "{}");
  const auto orders = running.backend.take();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, OrderKind::kLaunch);
  EXPECT_EQ(orders[0].node, node);
  EXPECT_EQ(orders[0].seq, answer->head);
}

TEST(Controller, WhatCannotBeAdmittedLeavesNoRecord) {
  store::MemoryStore store;
  Running running(store);
  const Seq head = store.head().seq;
  EXPECT_FALSE(submit_and_wait(running.controller, JobCancelRequested{JobId(77)}).ok());
  JobSpec spec = small_job();
  spec.queue = "no-such-queue";
  EXPECT_FALSE(submit_and_wait(running.controller, submission(spec)).ok());
  EXPECT_EQ(store.head().seq, head);
}

TEST(Controller, OnlyANewLogBeginsWithTheSettingsOfANewCluster) {
  store::MemoryStore store;
  for (const char* order : {"drf", "fair_share"}) {
    ControllerOptions options = test_options(policies::standard_policies());
    options.new_cluster.emplace().order = order;
    Running running(store, std::move(options));
    running.controller.stop();
    EXPECT_EQ(running.controller.state().settings.order, "drf");
  }
  store::MemoryStore old;  // begun by a program that knew no such settings
  { const Running running(old); }
  ControllerOptions options = test_options(policies::standard_policies());
  options.new_cluster.emplace().order = "drf";
  Running running(old, std::move(options));
  running.controller.stop();
  EXPECT_EQ(running.controller.state().settings, ClusterSettings{});
}

// Controllers of two versions take turns: what the newer one learns must be what the older reads.
TEST(Controller, AtAFormerLevelOnlyWhatItCanHoldIsFolded) {
  store::MemoryStore store;
  ControllerOptions options = test_options(policies::standard_policies());
  options.first_level = kFirstLevel;
  Running running(store, std::move(options));
  const auto say = [&](Event event, InputKind kind) {
    Input input;
    input.kind = kind;
    input.events.push_back({std::move(event), {}});
    return submit_and_wait(running.controller, std::move(input));
  };
  Executor slurm;
  slurm.name = "slurm";
  slurm.nodes = {"n1"};
  NodeRegistered node;
  node.name = "n1";
  node.boot_id = "b";
  node.inventory = std::make_shared<const Inventory>();
  ASSERT_TRUE(say(ObjectApplied{Declared(slurm)}, InputKind::kRequest).ok());
  ASSERT_TRUE(say(node, InputKind::kRequest).ok());
  const ExecutorNodeObserved observed{
      "slurm", NodeId(1), ExecutorNodeState::kDrained, "fan", {"ib"}};
  const auto asked = say(observed, InputKind::kRequest);
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, "level_needed");
  Input some;
  some.skips_refused = true;
  some.events = {{observed, {}}, {ExecutorContactChanged{"slurm", ExecutorContact::kMute, ""}, {}}};
  const auto skipped = submit_and_wait(running.controller, std::move(some));
  ASSERT_TRUE(skipped.ok());
  EXPECT_EQ(skipped->admitted, 1);
  EXPECT_EQ(skipped->first_refusal->code, "level_needed");
  ASSERT_TRUE(say(observed, InputKind::kFact).ok());
  ASSERT_TRUE(say(LevelRaised{kNewestLevel}, InputKind::kRequest).ok());
  ASSERT_TRUE(say(observed, InputKind::kFact).ok());
  running.controller.stop();
  const core::State& state = running.controller.state();
  EXPECT_EQ(state.level, kNewestLevel);
  EXPECT_EQ(state.nodes[NodeId(1)].executors[0].features, std::vector<std::string>{"ib"});
  std::vector<std::size_t> features;
  std::vector<std::int32_t> levels;
  ASSERT_TRUE(store
                  .read(Seq(),
                        [&](const store::Batch& batch) {
                          for (const StampedEvent& event : batch.events) {
                            const auto* one = std::get_if<ExecutorNodeObserved>(&event.event);
                            if (one == nullptr) continue;
                            features.push_back(one->features.size());
                            levels.push_back(batch.level);
                          }
                          return true;
                        })
                  .ok());
  EXPECT_EQ(features, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(levels, (std::vector<std::int32_t>{kFirstLevel, kNewestLevel}));
}

TEST(Controller, AnIdempotencyKeyGivesTheSameAnswerAlsoAfterARestart) {
  store::MemoryStore store;
  for (int life = 0; life < 3; ++life) {
    Running running(store);
    const auto answer =
        submit_and_wait(running.controller, submission(small_job(), "key", "digest"));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->first_job, JobId(1));
    EXPECT_EQ(answer->replayed, life > 0);
    const auto other = submit_and_wait(running.controller, submission(small_job(), "key", "other"));
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, "idempotency_key_reused");
    EXPECT_EQ(submit_and_wait(running.controller, submission(small_job(), "key2", "digest"))->jobs,
              1);
  }
}

// The same submission again, after a restart in which the cluster got the node that it lacked.
std::vector<std::string> warnings_after_restart(std::int32_t level, std::int32_t jobs_max) {
  store::MemoryStore store;
  const auto settings = [&] {
    ControllerOptions options = test_options(policies::standard_policies());
    options.first_level = level;
    options.snapshot_every_records = 1;
    return options;
  };
  {
    Running first(store, settings());
    const auto warned =
        submit_and_wait(first.controller, submission(small_job("wide", 5), "key", "digest"));
    EXPECT_TRUE(warned.ok()) << warned.error().message;
    EXPECT_EQ(warned->warnings.size(), 1u) << "the pool has no nodes";
    EXPECT_TRUE(submit_and_wait(first.controller, submission(small_job(), "fine", "x")).ok());
  }
  EXPECT_TRUE(store.latest_snapshot().value().has_value());
  Running second(store, settings());
  add_node(second.controller, "n1", 1);
  if (jobs_max > 0) {
    ClusterSettings full;
    full.jobs_max = jobs_max;
    EXPECT_TRUE(submit_and_wait(second.controller, ObjectApplied{Declared(full)}).ok());
  }
  const auto again =
      submit_and_wait(second.controller, submission(small_job("wide", 5), "key", "digest"));
  EXPECT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->replayed);
  return again->warnings;
}

TEST(Controller, TheWarningsOfASubmissionStayWithItsKey) {
  const auto kept = warnings_after_restart(kNewestLevel, 0);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_NE(kept[0].find("has no nodes"), std::string::npos) << kept[0];
}

// A snapshot that controllers of the former version read holds none.
TEST(Controller, WarningsThatWereNotKeptAreThoseOfNow) {
  for (const std::int32_t jobs_max : {0, 1}) {  // where it would be admitted again, and where not
    const auto now = warnings_after_restart(kFirstLevel, jobs_max);
    ASSERT_EQ(now.size(), 1u) << jobs_max;
    EXPECT_NE(now[0].find("can hold 4"), std::string::npos) << now[0];
  }
}

TEST(Controller, AFullDiskRefusesWorkAndLosesNothing) {
  store::MemoryStore store;
  Running running(store);
  ASSERT_TRUE(submit_and_wait(running.controller, submission(small_job("first"))).ok());
  const Seq head = store.head().seq;
  running.log.fail_appends(1);
  const auto refused = submit_and_wait(running.controller, submission(small_job("second")));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "disk_full");
  EXPECT_EQ(store.head().seq, head);
  // What nobody would say again waits for room and is taken then.
  Input report;
  report.kind = InputKind::kFact;
  report.events.push_back(StampedEvent{NodeDisconnected{NodeId(1), false}, {}});
  EXPECT_TRUE(submit_and_wait(running.controller, report).ok());
  const auto third = submit_and_wait(running.controller, submission(small_job("third")));
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->first_job, JobId(2));
}

TEST(Controller, AfterAFullDiskNodesOutOfTouchGetAGraceAnew) {
  store::MemoryStore store;
  std::atomic<std::int64_t> now{1'000'000'000'000};
  ControllerOptions options = test_options(policies::standard_policies());
  options.clock = [&now] { return now.load(); };
  Running running(store, std::move(options));
  ASSERT_TRUE(
      submit_and_wait(running.controller, NodeRegistered{"n1", "boot", "native", "", "",
                                                         std::make_shared<const Inventory>()})
          .ok());
  ASSERT_TRUE(submit_and_wait(running.controller, NodeConnected{NodeId(1), "boot"}).ok());
  ASSERT_TRUE(submit_and_wait(running.controller, NodeDisconnected{NodeId(1), false}).ok());
  running.log.fail_appends(1'000'000);
  // The fence passes while nothing can be written.
  now += seconds(60).us;
  EXPECT_FALSE(submit_and_wait(running.controller, submission(small_job())).ok());
  running.log.fail_appends(0);
  while (!submit_and_wait(running.controller, submission(small_job())).ok()) continue;
  running.controller.stop();
  const core::Node& node = running.controller.state().nodes.front();
  EXPECT_EQ(node.contact, Contact::kSilent);
  EXPECT_EQ(node.contact_since.us, now.load());
}

TEST(Controller, BelowTheFloorOnlyNewWorkIsRefused) {
  store::MemoryStore store;
  std::atomic<std::int64_t> free{std::int64_t{1} << 40};
  ControllerOptions options = test_options(policies::standard_policies());
  options.free_bytes = [&free] { return free.load(); };
  Running running(store, std::move(options));
  ASSERT_TRUE(submit_and_wait(running.controller, submission(small_job())).ok());
  EXPECT_FALSE(running.controller.shortage().has_value());
  free = 10 << 20;
  const auto refused = submit_and_wait(running.controller, submission(small_job()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "disk_full");
  EXPECT_NE(refused.error().message.find("it wants 64 MB free, and has 10 MB"), std::string::npos);
  EXPECT_TRUE(submit_and_wait(running.controller, JobHeld{JobId(1)}).ok());
  EXPECT_TRUE(running.controller.shortage().has_value());
}

TEST(Controller, OnAFullDiskOnlyWhatMakesRoomIsTaken) {
  store::MemoryStore store;
  std::atomic<std::int64_t> free{std::int64_t{1} << 40};
  ControllerOptions options = test_options(policies::standard_policies());
  options.free_bytes = [&free] { return free.load(); };
  Running running(store, std::move(options));
  ASSERT_TRUE(submit_and_wait(running.controller, submission(small_job())).ok());
  free = 1 << 20;
  const auto refused = submit_and_wait(running.controller, JobHeld{JobId(1)});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("it wants 2 MB free, and has 1 MB"), std::string::npos);
  Input relief;
  relief.kind = InputKind::kRelief;
  relief.events.push_back(StampedEvent{JobCancelRequested{JobId(1)}, {}});
  EXPECT_TRUE(submit_and_wait(running.controller, std::move(relief)).ok());
  EXPECT_EQ(running.controller.shortage()->code, "disk_full");
}

TEST(Controller, WhatArrivesDuringAnAppendIsOneBatch) {
  store::MemoryStore store;
  Running running(store);
  running.log.block(true);
  std::atomic<int> answered{0};
  const auto submit_one = [&] {
    running.controller.submit(submission(small_job()), [&](const Result<Committed>& answer) {
      EXPECT_TRUE(answer.ok());
      ++answered;
    });
  };
  submit_one();
  running.log.wait_for_append();
  for (int i = 0; i < 50; ++i) submit_one();
  EXPECT_EQ(answered, 0);
  running.log.block(false);
  ASSERT_TRUE(submit_and_wait(running.controller, submission(small_job())).ok());
  EXPECT_EQ(answered, 51);
  EXPECT_LE(running.batch_count(), 3u);
}

// The crash between the commit and what follows it: nothing was published or carried out.
TEST(Controller, OrdersAreSentAgainAfterACrash) {
  store::MemoryStore store;
  {
    Running running(store);
    add_node(running.controller, "n1", 1);
    ASSERT_TRUE(submit_and_wait(running.controller, submission(small_job())).ok());
    EXPECT_EQ(running.backend.take().size(), 1u);
  }
  Running again(store);
  ASSERT_EQ(again.reopened.size(), 1u);
  EXPECT_EQ(again.reopened[0].kind, OrderKind::kLaunch);
  EXPECT_EQ(again.reopened[0].epoch, Epoch(2));
  EXPECT_EQ(again.reopened[0].job, JobId(1));
}

TEST(Controller, AnOlderControllerCannotWrite) {
  store::MemoryStore store;
  std::promise<Error> failed;
  ControllerOptions options = test_options(policies::standard_policies());
  options.on_fatal = [&failed](const Error& error) { failed.set_value(error); };
  Running old(store, std::move(options));
  Running newer(store);
  EXPECT_FALSE(submit_and_wait(old.controller, submission(small_job())).ok());
  EXPECT_EQ(failed.get_future().get().kind, ErrorKind::kConflict);
  EXPECT_FALSE(submit_and_wait(old.controller, submission(small_job())).ok());
  EXPECT_TRUE(submit_and_wait(newer.controller, submission(small_job())).ok());
}

TEST(Controller, AfterItsTermItFollowsTheNextAndMayLeadAgain) {
  store::MemoryStore store;
  Running first(store);
  ASSERT_TRUE(submit_and_wait(first.controller, submission(small_job())).ok());
  first.controller.stop(/*at_once=*/true);
  EXPECT_FALSE(store.latest_snapshot()->has_value());
  const std::size_t before = first.batch_count();
  {
    Running second(store);
    ASSERT_TRUE(submit_and_wait(second.controller, submission(small_job())).ok());
  }
  first.controller.forget_observers();
  ASSERT_TRUE(first.controller.open().ok());
  EXPECT_EQ(first.controller.state().jobs.size(), 2u);
  EXPECT_EQ(first.controller.state().head, store.head().seq);
  first.controller.start();
  EXPECT_EQ(submit_and_wait(first.controller, submission(small_job()))->first_job, JobId(3));
  EXPECT_EQ(first.batch_count(), before) << "whoever looked during its first term is told nothing";
}

// Nobody else waits for a leader that has the log still to read.
TEST(Controller, TheLogIsReadBeforeTheTermBegins) {
  class Unreadable : public store::MemoryStore {
   public:
    Result<void> read(Seq, const std::function<bool(const store::Batch&)>&) override {
      return Error{ErrorKind::kUnavailable, "store_unreachable", "nobody answers", ""};
    }
    Result<Epoch> begin_epoch(const std::string& holder) override {
      has_begun = true;
      return MemoryStore::begin_epoch(holder);
    }
    bool has_begun = false;
  } store;
  FakeBackend backend;
  Controller controller(store, store, backend, test_options(policies::standard_policies()));
  EXPECT_EQ(controller.open().error().code, "store_unreachable");
  EXPECT_FALSE(store.has_begun);
}

TEST(Controller, RefusesEverythingOnceTold) {
  store::MemoryStore store;
  Running running(store);
  const Seq head = store.head().seq;
  running.controller.refuse(
      Error{ErrorKind::kConflict, "log_head_behind", "records were lost", ""});
  const auto answer = submit_and_wait(running.controller, submission(small_job()));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, "log_head_behind");
  EXPECT_EQ(store.head().seq, head);
}

TEST(Controller, ASnapshotAndTheRestGiveTheSameState) {
  store::MemoryStore store;
  {
    ControllerOptions options = test_options(policies::standard_policies());
    options.snapshot_every_records = 10;
    Running running(store, std::move(options));
    add_node(running.controller, "n1", 1);
    for (int i = 0; i < 30; ++i) {
      ASSERT_TRUE(submit_and_wait(running.controller, submission(small_job())).ok());
    }
  }
  ASSERT_TRUE(store.latest_snapshot().value().has_value());
  FakeBackend backend;
  Controller again(store, store, backend, test_options(policies::standard_policies()));
  ASSERT_TRUE(again.open().ok());
  const core::State reopened = again.state();
  EXPECT_EQ(reopened.jobs.size(), 30u);
  EXPECT_EQ(core::find_broken_invariant(reopened), std::nullopt);
}

TEST(Controller, ByHandNothingHappensUntilWorkIsCalled) {
  store::MemoryStore store;
  FakeBackend backend;
  ControllerOptions options = test_options(policies::standard_policies());
  std::int64_t now_us = 1'000'000;
  options.clock = [&] { return now_us; };
  Controller controller(store, store, backend, options);
  ASSERT_TRUE(controller.open().ok());
  int wakes = 0;
  controller.start_by_hand([&] { ++wakes; });
  std::optional<Result<Committed>> answer;
  controller.submit(submission(small_job()), [&](auto given) { answer.emplace(std::move(given)); });
  EXPECT_EQ(wakes, 1);
  EXPECT_FALSE(answer.has_value());
  EXPECT_TRUE(controller.state().jobs.empty());
  EXPECT_GT(controller.work(), 0) << "nothing is due";
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(store.head().seq, (*answer)->head);
  EXPECT_EQ(controller.state().jobs.size(), 1u);
}

TEST(Controller, ByHandItDiesWithoutAWord) {
  store::MemoryStore store;
  FakeBackend backend;
  bool answered = false;
  Seq head;
  {
    Controller controller(store, store, backend, test_options(policies::standard_policies()));
    ASSERT_TRUE(controller.open().ok());
    controller.start_by_hand([] {});
    head = store.head().seq;
    controller.submit(submission(small_job()), [&](const auto&) { answered = true; });
  }
  EXPECT_FALSE(answered);
  EXPECT_EQ(store.head().seq, head);
  EXPECT_FALSE(store.latest_snapshot().value().has_value());
}

TEST(Controller, WhatComesFasterThanItIsDoneIsRefusedButForAgentsWords) {
  store::MemoryStore store;
  FakeBackend backend;
  const core::Policies policies = policies::standard_policies();
  Controller controller(store, store, backend, test_options(policies));
  ASSERT_TRUE(controller.open().ok());
  controller.start_by_hand([] {});
  std::size_t taken = 0;
  std::optional<Error> refused;
  const auto submit = [&](InputKind kind, std::size_t blob_bytes) {
    Input input;
    input.kind = kind;
    if (blob_bytes > 0) input.blobs.emplace_back("exec", std::string(blob_bytes, 'x'));
    refused.reset();
    controller.submit(std::move(input), [&](const Result<Committed>& answer) {
      if (!answer.ok()) refused = answer.error();
    });
  };
  while (!refused && ++taken < 1'000'000) submit(InputKind::kRequest, 0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "busy");
  for (const InputKind kind : {InputKind::kReport, InputKind::kFact, InputKind::kRelief}) {
    submit(kind, 0);
    EXPECT_FALSE(refused);
  }
  controller.work();
  submit(InputKind::kNewWork, 1);
  EXPECT_FALSE(refused) << "there is room again";
  controller.stop();
}

}  // namespace
}  // namespace dove::controller
