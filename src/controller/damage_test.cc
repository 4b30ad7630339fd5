// What random damage does to a controller's data: the controller does not start, and says which
// file and what to do, or it starts with the very state that was written. DOVE_DAMAGES says how
// many (make test-corruption: 2000), DOVE_SEED which.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "controller/damage_fixture.h"
#include "files/damager_for_test.h"
#include "policies/standard.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::controller {
namespace {

namespace fs = std::filesystem;

// The copy is made while it runs.
void live_in(const std::string& directory, int jobs, std::uint64_t records_kept,
             const std::string& copy_at_work = "") {
  auto store = store::SqliteStore::open(directory, store::OpenMode::kWrite);
  ASSERT_TRUE(store.ok()) << store.error().message;
  live(**store, **store, policies::standard_policies(), jobs, records_kept, [&] {
    if (!copy_at_work.empty()) fs::copy(directory, copy_at_work);
  });
}

StartMade start(const std::string& directory) {
  StartMade made;
  const auto run = [&]() -> Result<void> {
    store::SqliteOptions options;
    options.verifies_tail = false;
    TRY_ASSIGN(auto store, store::SqliteStore::open(directory, store::OpenMode::kWrite, options));
    return start_on(*store, policies::standard_policies(), made);
  };
  const Result<void> done = run();
  if (!done.ok()) made.refused = done.error();
  return made;
}

// The directories of one life: as a stop leaves them, and as a power cut does.
class Damage : public ::testing::Test {
 protected:
  Damage() {
    std::string pattern = (fs::temp_directory_path() / "dove-damage-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    live_in(data(), 20, 5'000'000);
    fs::copy(data(), root_ / "earlier");
    live_in(data(), 25, 60, root_ / "running");
    fs::copy(data(), root_ / "stopped");
    whole_ = start(data());
    EXPECT_FALSE(whole_.refused.has_value());
  }
  ~Damage() override { fs::remove_all(root_); }

  std::string data() const { return root_ / "data"; }

  std::string verdict(const std::string& directory) const {
    return apart([&] {
      return judge(start(directory), whole_, {directory, "log.sqlite", "record", "table blobs"});
    });
  }

  fs::path root_;
  StartMade whole_;
};

TEST_F(Damage, IsFoundOrHealedAndNeverTaken) {
  const std::uint64_t seed = files::damage_seed();
  files::Damager damager(seed);
  const auto spares = [](const fs::path& file) {
    return file.filename() == "lock" || file.string().ends_with("-shm");
  };
  expect_none_taken(seed, [&](std::uint64_t i) {
    const std::string copy = root_ / "copy";
    fs::remove_all(copy);
    fs::copy(root_ / (i % 2 == 0 ? "stopped" : "running"), copy);
    std::string how = damager.damage(copy, root_ / "earlier", spares);
    return std::pair(std::move(how), verdict(copy));
  });
}

// As of a store that others write to: until it leads, it knows the end of the log of some earlier
// moment. The number beside its snapshot is wrong.
class StandbysStore : public store::MemoryStore {
 public:
  store::Head head() const override { return leads_ ? MemoryStore::head() : store::Head{}; }
  Result<Epoch> begin_epoch(const std::string& holder) override {
    leads_ = true;
    return MemoryStore::begin_epoch(holder);
  }
  Result<std::optional<store::Snapshot>> latest_snapshot() override {
    TRY_ASSIGN(std::optional<store::Snapshot> snapshot, MemoryStore::latest_snapshot());
    if (snapshot.has_value()) snapshot->head.batch = BatchNumber(snapshot->head.batch.value + 1);
    return snapshot;
  }
  void stand_by() { leads_ = false; }

 private:
  bool leads_ = true;
};

TEST(SnapshotDamage, ASnapshotOfAnotherBatchIsNotLedFrom) {
  StandbysStore store;
  live(store, store, policies::standard_policies(), 1, 5'000'000);
  ASSERT_TRUE(store.latest_snapshot().value().has_value()) << "a stop leaves one";
  const BatchNumber last = store.head().batch;
  store.stand_by();
  FakeBackend backend;
  Controller controller(store, store, backend, test_options(policies::standard_policies()));
  const Result<void> opened = controller.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "snapshot_damaged");
  EXPECT_EQ(store.head().batch, last) << "nothing is written";
}

}  // namespace
}  // namespace dove::controller
