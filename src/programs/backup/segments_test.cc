// Segments at a place that loses some, answers too late, or is written by two.
#include "programs/backup/segments.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <thread>

#include "programs/backup/follow_log.h"
#include "store/sqlite/bed_for_test.h"
#include "wire/secret.h"

namespace dove::store {
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LogStoreConformance);
}

namespace dove::programs {
namespace {

class MemoryPlace final : public BackupPlace {
 public:
  Result<std::optional<std::string>> get(const std::string& name, std::size_t bytes_max) override {
    const auto at = files.find(name);
    if (at == files.end()) return std::optional<std::string>();
    if (at->second.size() <= bytes_max && name != too_large) return std::optional(at->second);
    return Error{ErrorKind::kTooLarge, "file_too_large", name, name};
  }
  std::string path(const std::string& name) const override { return "place/" + name; }

  std::map<std::string, std::string> files;
  std::string too_large;  // this one, as if
  // Once, when this file is written, the caller gets a timeout.
  struct Late {
    std::string file;
    bool is_there = true;
    std::promise<void> said = {};
  };
  std::unique_ptr<Late> late;

 private:
  Result<void> write(const std::string& name, std::string_view bytes) override {
    const bool is_late = late != nullptr && name == late->file;
    if (!is_late || late->is_there) files[name] = bytes;
    if (!is_late) return {};
    late->file.clear();
    late->said.set_value();
    return Error{ErrorKind::kTimeout, "bucket_late", name, name};
  }
};

class Segments : public testing::Test {
 protected:
  Segments() : log_(store::open(directory_.path())), epoch_(*log_->begin_epoch("test")) {}

  void append() { store::append(*log_, epoch_, 1, 1); }
  // With a job, and what it runs.
  void append_job(std::size_t bytes) {
    const std::string runs(bytes, static_cast<char>('a' + jobs_++));
    JobSpec spec;
    spec.exec_digest = wire::sha256_hex(runs);
    store::Batch batch = store::batch_after(log_->head(), epoch_, 1, 0);
    batch.events[0].event = JobSubmitted{std::make_shared<const JobSpec>(spec)};
    batch.blobs.emplace_back(spec.exec_digest, runs);
    const Result<void> done = log_->append(epoch_, log_->head().seq, batch);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  Result<bool> keep(KeptTo& kept) { return keep_segment(*log_, *log_, place_, kept); }
  void keep_all(KeptTo& kept) {
    for (;;) {
      const Result<bool> more = keep(kept);
      ASSERT_TRUE(more.ok()) << more.error().message;
      if (!*more) return;
    }
  }
  Result<Seq> restored(const store::CutPoint& until = {}) {
    const store::Directory copy;
    EXPECT_TRUE(store::open(copy.path()) != nullptr);
    TRY(add_segments(place_, copy.path(), until));
    return store::open(copy.path())->head().seq;
  }

  const store::Directory directory_;
  std::unique_ptr<store::SqliteStore> log_;
  const Epoch epoch_;
  const KeptTo base_{Seq{}, Epoch{}, std::string(64, '0')};
  int jobs_ = 0;
  MemoryPlace place_;
};

TEST_F(Segments, OneThatIsMissingIsNoEnd) {
  KeptTo kept = base_;
  for (int i = 0; i < 3; ++i) {
    append();
    keep_all(kept);
  }
  EXPECT_EQ(*restored(), log_->head().seq);
  place_.files.erase("segments/00000000000000000002");
  const Result<Seq> whole = restored();
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code, "backup_damaged");
  EXPECT_NE(whole.error().message.find("it is missing, and segments go on to record 6"),
            std::string::npos)
      << whole.error().message;
  EXPECT_FALSE(restored({.at = {}, .seq = Seq{3}}).ok());
  EXPECT_EQ(*restored({.at = {}, .seq = Seq{2}}), Seq{2});
}

TEST_F(Segments, OneEndsOnceItsJobsRunMuch) {
  for (int i = 0; i < 3; ++i) append_job(33 << 20);
  KeptTo kept = base_;
  ASSERT_TRUE(*keep(kept));
  EXPECT_EQ(kept.head, Seq{2});
  keep_all(kept);
  EXPECT_EQ(kept.head, Seq{3});
  EXPECT_EQ(*restored(), Seq{3});
}

TEST_F(Segments, OneThatIsTooLargeIsNamed) {
  append();
  KeptTo kept = base_;
  keep_all(kept);
  place_.too_large = "segments/00000000000000000000";
  const Result<Seq> whole = restored();
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code, "backup_damaged");
  EXPECT_NE(whole.error().message.find("--at 0 restores"), std::string::npos);
}

TEST_F(Segments, TwoDoNotWriteThem) {
  KeptTo one = base_;
  KeptTo other = base_;
  append();
  keep_all(one);
  append();
  const Result<bool> refused = keep(other);
  ASSERT_FALSE(refused.ok()) << "it would end elsewhere";
  EXPECT_EQ(refused.error().code, "backup_followed_twice");
  keep_all(one);
  EXPECT_EQ(*restored(), log_->head().seq);
}

TEST_F(Segments, AfterATimeoutItGoesOnFromWhatIsThere) {
  for (const auto& [file, is_there] :
       {std::pair("segments/last.json", true), std::pair("segments/last.json", false),
        std::pair("segments/00000000000000000008", true)}) {
    append();
    append();
    place_.late.reset(new MemoryPlace::Late{file, is_there});
    std::future<void> said = place_.late->said.get_future();
    const std::atomic<bool> never{false};
    std::atomic<bool> stop{false};
    Result<void> done;
    std::thread follower([&] {
      done = follow_log({directory_.path(), "", never}, place_, base_, Span{1}, stop);
    });
    EXPECT_EQ(said.wait_for(std::chrono::seconds(10)), std::future_status::ready) << file;
    stop = true;
    follower.join();
    EXPECT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(*restored(), log_->head().seq);
  }
}

}  // namespace
}  // namespace dove::programs
