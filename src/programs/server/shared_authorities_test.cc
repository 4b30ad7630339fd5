#include "programs/server/shared_authorities.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <ctime>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "files/text_file.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kDay_s = 24 * 3600;

// What all controllers of a log have in common.
class FakeDatabase {
 public:
  // `asked` is called at each reading.
  SharedAuthorities::Place place(std::function<void()> asked = [] {}) {
    return {[this, asked = std::move(asked)]() -> Result<std::string> {
              asked();
              if (!kept) return Error{ErrorKind::kNotFound, "none", "nothing is kept", ""};
              return *kept;
            },
            [this](const std::string& text) -> Result<void> {
              if (is_full) return Error{ErrorKind::kInternal, "disk_full", "no space", ""};
              kept = text;
              return {};
            }};
  }

  std::optional<std::string> kept;
  bool is_full = false;
};

// A controller's data directory, with an authority that began some days ago.
class Directory {
 public:
  explicit Directory(int days_ago, const std::string& secret = "a secret of controllers") {
    std::string name = std::filesystem::temp_directory_path() / "dove-authorities-XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
    path = name;
    const auto made = wire::Authority::make("dove", std::time(nullptr) - days_ago * kDay_s);
    write("/ca.key", made.credentials().key_pem);
    write("/ca.pem", made.credentials().chain_pem);
    write("/secret", secret);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string shown() const { return open_authorities(path, "dove")->shown.digest(); }
  std::string next() const {
    const Result<Authorities> all = open_authorities(path, "dove");
    return all.ok() && all->next ? all->next->digest() : "";
  }
  bool has(const char* file) const { return std::filesystem::exists(path + file); }

  std::string path;

 private:
  void write(const char* file, const std::string& text) const {
    EXPECT_TRUE(files::write_atomically(path + file, text, 0600).ok());
  }
};

bool came(std::promise<void>& promise) {
  return promise.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

// One look as a standby; it is over when the object is.
void stand_by(FakeDatabase& database, const Directory& directory) {
  std::promise<void> asked;
  std::once_flag once;
  const auto place = database.place([&] { std::call_once(once, [&asked] { asked.set_value(); }); });
  SharedAuthorities one(place, directory.path);
  EXPECT_TRUE(came(asked));
}

void lead(FakeDatabase& database, const Directory& directory) {
  std::promise<void> ready;
  SharedAuthorities one(database.place(), directory.path);
  one.leads([&ready] { ready.set_value(); });
  EXPECT_TRUE(came(ready));
}

TEST(SharedAuthorities, AStandbyTakesTheLeaders) {
  FakeDatabase database;
  const Directory leader(1);
  const Directory standby(2);
  stand_by(database, standby);
  EXPECT_FALSE(database.kept.has_value()) << "who stands by keeps nothing there";
  lead(database, leader);
  ASSERT_TRUE(database.kept.has_value());
  EXPECT_EQ(database.kept->find("PRIVATE"), std::string::npos) << "the database reads no key";
  EXPECT_NE(standby.shown(), leader.shown());
  stand_by(database, standby);
  EXPECT_EQ(standby.shown(), leader.shown());
}

TEST(SharedAuthorities, ANewerOneGivesWayToNoOlderOne) {
  FakeDatabase database;
  const Directory older(2);
  const Directory newer(1);
  const std::string before = newer.shown();
  lead(database, older);
  stand_by(database, newer);
  EXPECT_EQ(newer.shown(), before);
  lead(database, newer);
  EXPECT_EQ(newer.shown(), before);
  stand_by(database, older);
  EXPECT_EQ(older.shown(), before);
}

TEST(SharedAuthorities, ARotationReachesStandbysAndTheNextLeader) {
  FakeDatabase database;
  const Directory leader(2);
  const Directory standby(3);
  lead(database, leader);
  stand_by(database, standby);
  const Result<wire::Authority> next = begin_rotation(leader.path, "dove", std::time(nullptr));
  ASSERT_TRUE(next.ok());
  lead(database, leader);
  stand_by(database, standby);
  EXPECT_EQ(standby.shown(), leader.shown());
  EXPECT_EQ(standby.next(), next->digest());
  ASSERT_TRUE(finish_rotation(leader.path).ok());
  lead(database, leader);
  lead(database, standby);
  EXPECT_EQ(standby.shown(), next->digest());
  EXPECT_EQ(standby.next(), "");
}

TEST(SharedAuthorities, ARotationOnAMachineWhoseClockIsBehindIsNotUndone) {
  FakeDatabase database;
  const Directory leader(-1);  // as its clock has it, the authority begins tomorrow
  lead(database, leader);
  const Result<wire::Authority> next = begin_rotation(leader.path, "dove", std::time(nullptr));
  ASSERT_TRUE(next.ok());
  lead(database, leader);
  EXPECT_EQ(leader.next(), next->digest());
  const Directory standby(3);
  stand_by(database, standby);
  EXPECT_EQ(standby.next(), next->digest());
}

// Nodes have followed the rotation since.
TEST(SharedAuthorities, ADatabaseThatWentBackUndoesNoRotation) {
  FakeDatabase database;
  const Directory leader(2);
  const Directory standby(3);
  lead(database, leader);
  const std::optional<std::string> former = database.kept;
  const Result<wire::Authority> next = begin_rotation(leader.path, "dove", std::time(nullptr));
  ASSERT_TRUE(next.ok());
  lead(database, leader);
  database.kept = former;
  lead(database, leader);
  EXPECT_EQ(leader.next(), next->digest());
  stand_by(database, standby);
  EXPECT_EQ(standby.next(), next->digest());
}

TEST(SharedAuthorities, WhoHasAnotherSecretTakesNothing) {
  FakeDatabase database;
  const Directory leader(1);
  const Directory stranger(2, "another secret");
  const std::string before = stranger.shown();
  lead(database, leader);
  const std::optional<std::string> kept = database.kept;
  stand_by(database, stranger);
  lead(database, stranger);
  EXPECT_EQ(stranger.shown(), before);
  EXPECT_EQ(database.kept, kept) << "nor does it take their place";
}

TEST(SharedAuthorities, WhatCouldNotBeKeptIsKeptLater) {
  FakeDatabase database;
  const Directory leader(1);
  database.is_full = true;
  lead(database, leader);
  EXPECT_FALSE(leader.has("/ca.shared"));
  database.is_full = false;
  lead(database, leader);
  EXPECT_TRUE(database.kept.has_value());
  EXPECT_TRUE(leader.has("/ca.shared"));
}

}  // namespace
}  // namespace dove::programs
