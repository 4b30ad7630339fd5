// What random damage does to a controller's data: the controller does not start, and says which
// file and what to do, or it starts with the very state that was written. DOVE_DAMAGES says how
// many (make test-corruption: 2000), DOVE_SEED which.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "controller/damage_fixture.h"
#include "policies/standard.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::controller {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

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

class Damager {
 public:
  explicit Damager(std::uint64_t seed) : random_(seed) {}

  // Changes one file of the directory, and says how.
  std::string damage(const fs::path& directory, const fs::path& other) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.is_regular_file() && entry.file_size() > 0 && entry.path().filename() != "lock" &&
          !entry.path().string().ends_with("-shm")) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    const fs::path file = files[below(files.size())];
    return change(file, other / file.filename()) + " " + file.filename().string();
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }

  std::string change(const fs::path& file, const fs::path& of_another) {
    std::string text = text_of(file);
    const std::size_t at = below(text.size());
    const std::size_t page = at / 4096 * 4096;
    const std::size_t length = std::min<std::size_t>(4096, text.size() - page);
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        write_text(file, text);
        return "bit at " + std::to_string(at) + " of";
      case 1:
        text.resize(at);
        write_text(file, text);
        return "cut at " + std::to_string(at) + ":";
      case 2:  // the second half of a page was not written
        text.replace(page + length / 2, length - length / 2,
                     std::string(length - length / 2, '\0'));
        write_text(file, text);
        return "torn page at " + std::to_string(page) + " of";
      case 3:
        text.replace(page, length, std::string(length, '\0'));
        write_text(file, text);
        return "zeros at " + std::to_string(page) + " of";
      case 4: {  // a block of the disk has another one's bytes
        const std::size_t from = below(text.size()) / 4096 * 4096;
        const std::string block = text.substr(from, length);
        text.replace(page, block.size(), block);
        write_text(file, text);
        return "bytes of " + std::to_string(from) + " at " + std::to_string(page) + " of";
      }
      case 5:
        fs::remove(file);
        return "without";
      default:
        if (!fs::exists(of_another)) {
          fs::remove(file);
          return "without";
        }
        fs::copy_file(of_another, file, fs::copy_options::overwrite_existing);
        return "an earlier";
    }
  }

  std::mt19937_64 random_;
};

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
  const std::uint64_t seed = seed_of_damages();
  Damager damager(seed);
  expect_none_taken(seed, [&](std::uint64_t i) {
    const std::string copy = root_ / "copy";
    fs::remove_all(copy);
    fs::copy(root_ / (i % 2 == 0 ? "stopped" : "running"), copy);
    std::string how = damager.damage(copy, root_ / "earlier");
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
