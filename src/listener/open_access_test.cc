#include "listener/open_access.h"

#include <gtest/gtest.h>

namespace dove::listener {
namespace {

class OpenAccessTest : public testing::Test {
 protected:
  OpenAccessTest() {
    state.users["ada"].name = "ada";
    Key key;
    key.id = "k1";
    key.user = "ada";
    key.expires_at = now + seconds(60);
    state.keys["k1"] = key;
  }
  accounts::Caller ada(const std::string& key) {
    accounts::Caller caller;
    caller.user = "ada";
    caller.key = key;
    return caller;
  }
  void commit(Event event) {
    store::Batch batch;
    batch.events.push_back({std::move(event), {}});
    access.committed(state, batch, now);
  }

  const Instant now{1'000'000};
  core::State state;
  OpenAccess access;
  int over = 0;
};

TEST_F(OpenAccessTest, EndsWithTheKey) {
  const auto held = access.hold(ada("k1"), [this] { ++over; });
  const auto token = access.hold(ada(""), [this] { over += 100; });
  commit(KeyRevoked{"another"});
  EXPECT_EQ(over, 0);
  state.keys.clear();
  commit(KeyRevoked{"k1"});
  EXPECT_EQ(over, 1);
  access.time_passed(state, now);
  EXPECT_EQ(over, 1);
}

// The administrator's token of the file, once another is in the log.
TEST_F(OpenAccessTest, EndsWithTheTokenOfTheFile) {
  accounts::Caller caller;
  caller.user = "admin";
  caller.admin = caller.is_root = true;
  const auto by_socket = access.hold(caller, [this] { over += 100; });
  caller.file_token = "digest of the former one";
  const auto by_file = access.hold(caller, [this] { ++over; });
  commit(KeyRevoked{"another"});
  EXPECT_EQ(over, 0);
  Key key;
  key.is_administrators = true;
  key.expires_at = now + seconds(60);
  state.keys[caller.file_token] = key;
  key.expires_at = kNever;
  state.keys["digest of the present one"] = key;
  commit(KeyIssued{"digest of the present one", key});
  EXPECT_EQ(over, 0) << "they overlap";
  access.time_passed(state, now + seconds(60));
  EXPECT_EQ(over, 1);
  const auto another = access.hold(caller, [this] { over += 10; });
  state.keys.erase(caller.file_token);
  commit(KeyRevoked{"digest of the former one"});
  EXPECT_EQ(over, 11);
}

TEST_F(OpenAccessTest, EndsWhenTheTimeHasCome) {
  const auto held = access.hold(ada("k1"), [this] { ++over; });
  access.time_passed(state, now + seconds(59));
  EXPECT_EQ(over, 0);
  access.time_passed(state, now + seconds(60));
  EXPECT_EQ(over, 1);
}

TEST_F(OpenAccessTest, TheCallerIsAsTheyAreNow) {
  const auto held = access.hold(ada(""), [this] { ++over; });
  EXPECT_FALSE(held->caller.admin);
  state.bindings["b"] = {"b", Role::kAdmin, "", "", {"ada"}, {}};
  commit(ObjectApplied{state.bindings["b"]});
  EXPECT_TRUE(held->caller.admin);
  state.users["ada"].disabled = true;
  commit(ObjectApplied{state.users["ada"]});
  EXPECT_EQ(over, 1);
}

TEST_F(OpenAccessTest, NobodyIsToldOfWhatWasLetGo) {
  access.hold(ada("k1"), [this] { ++over; });
  state.keys.clear();
  commit(KeyRevoked{"k1"});
  EXPECT_EQ(over, 0);
  // What is told may let itself go.
  state.keys["k1"].user = "ada";
  std::shared_ptr<const OpenAccess::Held> own;
  own = access.hold(ada("k1"), [&] {
    own.reset();
    ++over;
  });
  state.keys.clear();
  commit(KeyRevoked{"k1"});
  EXPECT_EQ(over, 1);
}

}  // namespace
}  // namespace dove::listener
