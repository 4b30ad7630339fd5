#include "notices/office.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/state/apply.h"
#include "core/state/cluster_fixture.h"
#include "files/text_file.h"
#include "notices/target.h"
#include "store/memory/memory_store.h"

namespace dove::notices {
namespace {

// A log with its fold, an office, and receivers that say that they are fakes.
class OfficeTest : public testing::Test {
 protected:
  OfficeTest() : folder_(std::filesystem::temp_directory_path() / "dove-office-XXXXXX") {
    CHECK(mkdtemp(folder_.data()) != nullptr, "a temporary directory can be made");
    epoch_ = store_.begin_epoch("test").value();
    ago = seconds(30 * 3600);
    NodeRegistered node;
    node.name = "n1";
    node.boot_id = "boot";
    node.inventory = core::inventory_of({.cores = 64});
    commit({node});
    commit({NodeConnected{NodeId(1), "boot"}});
    ago = {};
  }
  ~OfficeTest() override {
    office.reset();
    std::filesystem::remove_all(folder_);
  }

  void commit(std::vector<Event> events, std::vector<Decision> decisions = {}) {
    store::Batch batch;
    batch.number = BatchNumber(store_.head().batch.value + 1);
    batch.epoch = epoch_;
    batch.at = Instant{loop.wall_us() - ago.us};
    batch.first_seq = Seq(store_.head().seq.value + 1);
    for (Event& event : events) batch.events.push_back({std::move(event), {}});
    batch.decisions = std::move(decisions);
    ASSERT_TRUE(store_.append(epoch_, store_.head().seq, batch).ok());
    core::begin_batch(state, batch.at, batch.epoch);
    for (const StampedEvent& event : batch.events) core::apply(state, event);
    for (const Decision& decision : batch.decisions) core::apply(state, decision);
    ASSERT_EQ(state.head, store_.head().seq);
    if (office != nullptr) office->committed(batch);
  }
  void choose(std::vector<NoticeTarget> targets) {
    UserDeclaration ann;
    ann.name = "ann";
    ann.notices = std::move(targets);
    commit({ObjectApplied{Declared(ann)}});
  }
  JobId run_job() {
    const JobId job(state.next_job);
    commit({JobSubmitted{std::make_shared<const JobSpec>(core::spec_of({}))}});
    Placement placement = core::first_free(*state.find_node(NodeId(1)), *state.find_job(job)->spec);
    commit({}, {Launch{job, 1, shared({std::move(placement)})}});
    commit({PlacementStarted{job, 1, NodeId(1)}});
    TaskExit exit;
    exit.exit_code = 3;
    commit({PlacementEnded{job, 1, NodeId(1), {exit}, 0, 0}}, {EndJob{job, Outcome::kFailed, 3}});
    return job;
  }

  void open() {
    office.reset();
    OfficeOptions options;
    options.place = file_place(path());
    options.cluster_id = "cluster";
    options.deliver = [this](const Letter& letter, const Origin& origin) {
      return receive(letter, origin);
    };
    office = std::make_unique<Office>(loop, state, store_, std::move(options));
    office->start("https://gpu");
  }
  Attempted receive(const Letter& letter, const Origin& origin) {
    EXPECT_EQ(origin.url, "https://gpu");
    if (letter.lane == "https://slow.example") hang_.get_future().wait();
    const std::lock_guard lock(mutex_);
    received_.emplace_back(letter.lane, letter.id);
    if (!is_down) return {};
    return {Attempted::Ending::kRetry, true, Error{ErrorKind::kUnavailable, "down", "it is", ""}};
  }
  using Received = std::vector<std::pair<std::string, std::string>>;  // lane, id
  Received received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  bool until(const std::function<bool()>& done) {
    return loop.run_until(done, std::chrono::seconds(10));
  }
  std::string path() const { return folder_ + "/notices.json"; }
  std::int64_t waiting() const { return office->targets_json("ann").at(0).at("waiting"); }

  wire::Loop loop;
  core::State state;
  std::unique_ptr<Office> office;
  Span ago{};
  std::atomic<bool> is_down = false;
  std::promise<void> hang_;
  store::MemoryStore store_;
  Epoch epoch_;

 private:
  std::string folder_;
  std::mutex mutex_;
  Received received_;
};

const NoticeTarget kHook{
    NoticeBy::kWebhook, "https://hook.example/secret", {NoticeAbout::kJobEnded}};

TEST_F(OfficeTest, WhatIsCommittedIsTold) {
  open();
  choose({kHook, {NoticeBy::kMail, "ann@example.org", {NoticeAbout::kJobStarted}}});
  run_job();
  ASSERT_TRUE(until([&] { return received().size() == 2; }));
  ASSERT_TRUE(until([&] { return waiting() == 0; }));
  const nlohmann::json shown = office->targets_json("ann");
  EXPECT_EQ(shown[0].at("delivered"), 1);
  EXPECT_EQ(shown.dump().find("secret"), std::string::npos);
}

TEST_F(OfficeTest, NothingIsToldOfWhatWasBeforeTheFirstStart) {
  choose({kHook});
  run_job();
  open();
  run_job();
  ASSERT_TRUE(until([&] { return waiting() == 0; }));
  EXPECT_EQ(received().size(), 1u);
}

TEST_F(OfficeTest, WhatHappenedWhileItWasOffIsToldAfterwards) {
  open();
  choose({kHook});
  office.reset();
  for (int i = 0; i < 3; ++i) run_job();
  open();
  ASSERT_TRUE(until([&] { return received().size() == 3 && waiting() == 0; }));
  open();  // once is enough
  run_job();
  ASSERT_TRUE(until([&] { return received().size() == 4 && waiting() == 0; }));
  EXPECT_EQ(received().size(), 4u);
}

TEST_F(OfficeTest, WhatIsOlderThanADayIsNotTold) {
  ago = seconds(25 * 3600);
  open();
  choose({kHook});
  office.reset();
  ago = seconds(25 * 3600);
  run_job();
  ago = seconds(3600);
  run_job();
  open();
  ASSERT_TRUE(until([&] { return received().size() == 1 && waiting() == 0; }));
  ago = {};
  run_job();
  ASSERT_TRUE(until([&] { return received().size() == 2; }));
}

TEST_F(OfficeTest, ACrashBetweenSendingAndWritingTellsAgainWithTheSameId) {
  open();
  choose({kHook});
  office->stop();
  const std::string before = path() + ".before";
  std::filesystem::copy_file(path(), before);
  open();
  run_job();
  ASSERT_TRUE(until([&] { return received().size() == 1; }));
  office.reset();
  std::filesystem::rename(before, path());
  open();
  ASSERT_TRUE(until([&] { return received().size() == 2; }));
  EXPECT_EQ(received()[0], received()[1]);
}

// As at a hand-over: the next controller's office begins while this one is still there.
TEST_F(OfficeTest, OneThatRestsHasWrittenWhatItSentAndSendsNothingMore) {
  open();
  choose({kHook});
  run_job();
  ASSERT_TRUE(until([&] { return waiting() == 0; }));
  std::atomic<bool> rests = false;
  office->rest(std::chrono::seconds(10), [&] { rests = true; });
  ASSERT_TRUE(until([&] { return rests.load(); }));
  run_job();
  office->stop();
  EXPECT_EQ(received().size(), 1u) << "the second is the next one's to tell";
  open();
  ASSERT_TRUE(until([&] { return received().size() == 2 && waiting() == 0; }));
  EXPECT_NE(received()[0], received()[1]);
}

TEST_F(OfficeTest, OneThatRestsWaitsForWhatIsUnderWayAsLongAsItMay) {
  open();
  choose({{NoticeBy::kWebhook, "https://slow.example/x", {NoticeAbout::kJobEnded}}});
  run_job();
  std::atomic<bool> rests = false;
  office->rest(std::chrono::milliseconds(20), [&] { rests = true; });
  EXPECT_TRUE(until([&] { return rests.load(); })) << "it does not wait for a receiver that hangs";
  EXPECT_NE(files::text_or_empty(path(), 1 << 20).find("job.1.1.ended"), std::string::npos)
      << "the next controller sends it, with the same id";
  hang_.set_value();
}

TEST_F(OfficeTest, WhatWaitsIsWrittenWithinASecondAndSurvivesAKill) {
  open();
  choose({kHook});
  is_down = true;
  run_job();
  ASSERT_TRUE(until([&] { return !received().empty(); }));
  const auto kept = [&] {
    return files::text_or_empty(path(), 1 << 20).find("job.1.1.ended") != std::string::npos;
  };
  ASSERT_TRUE(until(kept));
  // A kill: what the file says is all that is left.
  const std::string left = path() + ".left";
  std::filesystem::copy_file(path(), left);
  office.reset();
  std::filesystem::rename(left, path());
  is_down = false;
  open();
  ASSERT_TRUE(until([&] { return waiting() == 0; }));
  EXPECT_EQ(received().front(), received().back());
}

TEST_F(OfficeTest, ALogThatIsNotThereAnyMoreIsPassedOver) {
  open();
  choose({kHook});
  office.reset();
  run_job();
  ASSERT_TRUE(store_.put_snapshot({store_.head(), 0, ""}).ok());
  commit({TimeReached{}});
  ASSERT_TRUE(store_.forget_before(store_.head().seq, {}).ok());
  open();
  run_job();
  ASSERT_TRUE(until([&] { return received().size() == 1; }));
}

TEST_F(OfficeTest, AFileThatIsDamagedIsPassedOver) {
  choose({kHook});
  for (const char* text :
       {"", "{", "{}", R"({"seq": 999999, "at_us": 0, "outbox": {}})",
        R"({"seq": 999999, "at_us": 0, "outbox": {"waiting": [], "targets": {}}})"}) {
    ASSERT_TRUE(files::write_atomically(path(), text, 0600).ok());
    const std::size_t before = received().size();
    open();
    run_job();
    ASSERT_TRUE(until([&] { return received().size() == before + 1; })) << text;
    office.reset();
  }
}

TEST_F(OfficeTest, AReceiverThatHangsHoldsUpNobodyElse) {
  open();
  choose({{NoticeBy::kWebhook, "https://slow.example/x", {NoticeAbout::kJobEnded}},
          kHook,
          {NoticeBy::kMail, "ann@example.org", {NoticeAbout::kJobEnded}}});
  for (int i = 0; i < 5; ++i) run_job();
  ASSERT_TRUE(until([&] { return received().size() == 10; }));
  hang_.set_value();
}

TEST_F(OfficeTest, ATargetThatIsRemovedHearsNothingMore) {
  open();
  choose({kHook});
  is_down = true;
  run_job();
  ASSERT_TRUE(until([&] { return received().size() == 1; }));
  ASSERT_TRUE(until([&] { return office->targets_json("ann")[0].contains("error"); }));
  choose({});
  is_down = false;
  office->stop();
  open();
  choose({kHook});
  EXPECT_EQ(waiting(), 0);
}

TEST_F(OfficeTest, ATestSaysWhatBecameOfIt) {
  open();
  choose({kHook});
  std::optional<Result<Attempted>> answer;
  const auto keep = [&](Result<Attempted> result) { answer = std::move(result); };
  office->test("ann", 0, keep);
  ASSERT_TRUE(until([&] { return answer.has_value(); }));
  EXPECT_EQ((*answer)->ending, Attempted::Ending::kDelivered);
  office->test("ann", 1, keep);
  EXPECT_EQ(answer->error().code, "no_such_target");
  for (int i = 1; i < 60; ++i) {
    answer.reset();
    office->test("ann", 0, keep);
    ASSERT_TRUE(until([&] { return answer.has_value(); }));
  }
  office->test("ann", 0, keep);
  EXPECT_EQ(answer->error().code, "notices_limited");
}

}  // namespace
}  // namespace dove::notices
