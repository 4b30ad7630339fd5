#include "listener/blobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace dove::listener {
namespace {

constexpr std::chrono::seconds kLimit{20};

// A store that can be made to hang, and to be out of reach. It says that it is a fake.
class FakeRemoteLog : public store::LogStore {
 public:
  store::Head head() const override { return {}; }
  Result<void> append(Epoch, Seq, const store::Batch&) override { return {}; }
  Result<void> read(Seq, const std::function<bool(const store::Batch&)>&) override { return {}; }
  Result<std::optional<std::string>> blob(const std::string& sha256) override {
    ++asked;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hangs_; });
    if (is_gone) return Error{ErrorKind::kUnavailable, "store_unreachable", "nobody answers", ""};
    if (sha256 == "nowhere") return std::optional<std::string>();
    if (sha256 == "bad sector" && fails)
      return Error{ErrorKind::kInternal, "store_failed", "I/O", ""};
    return std::optional<std::string>("bytes of " + sha256);
  }
  void hang(bool hangs) {
    {
      const std::lock_guard lock(mutex_);
      hangs_ = hangs;
    }
    changed_.notify_all();
  }
  std::atomic<int> asked = 0;
  std::atomic<bool> is_gone = false;
  std::atomic<bool> fails = true;  // what lies on a bad sector

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
};

TEST(Blobs, WhatMayBeSlowIsReadBesideTheLoop) {
  wire::Loop loop;
  FakeRemoteLog log;
  Blobs blobs(loop, log, /*aside=*/true);
  log.hang(true);
  EXPECT_EQ(blobs.find("a").error().code, "blob_later");  // and does not hang
  std::optional<Blobs::Found> found;
  blobs.fetch({"a", "nowhere", "bad sector"}, Blobs::kForever,
              [&](Result<Blobs::Found> all) { found = *all; });
  EXPECT_FALSE(loop.run_until([&] { return found.has_value(); }, std::chrono::milliseconds(20)));
  log.hang(false);
  ASSERT_TRUE(loop.run_until([&] { return found.has_value(); }, kLimit));
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(*found->at("a"), "bytes of a");
  EXPECT_EQ(log.asked, 3);
  EXPECT_EQ(**blobs.find("a"), "bytes of a");
  EXPECT_EQ(blobs.find("nowhere").error().code, "blob_missing");
  bool is_at_once = false;
  blobs.fetch({"a", "nowhere"}, Blobs::kForever, [&](const auto&) { is_at_once = true; });
  EXPECT_TRUE(is_at_once);
  EXPECT_EQ(log.asked, 3);
}

TEST(Blobs, AStoreOutOfReachIsNotAMissingBlob) {
  wire::Loop loop;
  FakeRemoteLog log;
  Blobs blobs(loop, log, /*aside=*/true);
  log.is_gone = true;
  std::optional<Error> late;
  std::optional<Blobs::Found> found;
  blobs.fetch({"a"}, std::chrono::milliseconds(1),
              [&](const Result<Blobs::Found>& all) { late = all.error(); });
  blobs.fetch({"a"}, Blobs::kForever, [&](Result<Blobs::Found> all) { found = *all; });
  ASSERT_TRUE(loop.run_until([&] { return late.has_value(); }, kLimit));
  EXPECT_EQ(late->code, "blob_later");
  EXPECT_EQ(blobs.find("a").error().code, "blob_later");
  log.is_gone = false;
  ASSERT_TRUE(loop.run_until([&] { return found.has_value(); }, kLimit));
  EXPECT_EQ(found->size(), 1u);
}

TEST(Blobs, ADiskThatCouldNotReadOneIsAskedForItAgain) {
  wire::Loop loop;
  FakeRemoteLog log;
  Blobs blobs(loop, log, /*aside=*/true);
  std::optional<Blobs::Found> found;
  blobs.fetch({"bad sector"}, Blobs::kForever, [&](Result<Blobs::Found> all) { found = *all; });
  ASSERT_TRUE(loop.run_until([&] { return found.has_value(); }, kLimit));
  EXPECT_TRUE(found->empty());
  log.fails = false;
  EXPECT_EQ(blobs.find("bad sector").error().code, "blob_missing") << "not at once";
  const wire::Timer wakes = loop.after(std::chrono::milliseconds(1100), [] {});
  EXPECT_TRUE(loop.run_until([&] { return blobs.find("bad sector").ok(); }, kLimit));
}

TEST(Blobs, WhatIsHereIsReadAtOnce) {
  wire::Loop loop;
  FakeRemoteLog log;
  Blobs blobs(loop, log, /*aside=*/false);
  EXPECT_EQ(**blobs.find("a"), "bytes of a");
  EXPECT_EQ(blobs.find("nowhere").error().code, "blob_missing");
  blobs.put("b", "given");
  std::size_t count = 0;
  blobs.fetch({"a", "b", "nowhere"}, Blobs::kForever,
              [&](Result<Blobs::Found> all) { count = all->size(); });
  EXPECT_EQ(count, 2u);
}

}  // namespace
}  // namespace dove::listener
