#include "core/state/holders/holders.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

class HoldersTest : public testing::Test {
 protected:
  void limit(const std::string& user, std::int64_t cores) {
    UserLimit& limit = state.user_limits[user];
    limit.name = user;
    limit.limits.cores = cores;
  }
  void user(const std::string& name, const std::string& domain) {
    state.users[name].name = name;
    state.users[name].domain = domain;
  }
  void project(const std::string& name, const std::string& domain) {
    state.projects[name].name = name;
    state.projects[name].domain = domain;
  }

  State state;
};

TEST_F(HoldersTest, NobodyIsLimitedWithoutAnEntry) {
  EXPECT_EQ(limits_of_user(state, "ann"), nullptr);
  limit("bob", 1);
  EXPECT_EQ(limits_of_user(state, "ann"), nullptr);
}

TEST_F(HoldersTest, AnEntryOfTheUsersOwnReplacesThatOfEverybodyAlsoWhereItIsWider) {
  limit("*", 4);
  limit("ann", 8);
  ASSERT_NE(limits_of_user(state, "bob"), nullptr);
  EXPECT_EQ(limits_of_user(state, "ann")->cores, 8);
  EXPECT_EQ(limits_of_user(state, "bob")->cores, 4);
}

TEST_F(HoldersTest, AJobCountsInTheDomainOfItsProject) {
  user("ann", "corp");
  project("guests", "lab");
  EXPECT_EQ(domain_of(state, "ann", "guests"), "lab");
  EXPECT_EQ(domain_of(state, "ann", ""), "corp");
  JobSpec spec;
  spec.user = "ann";
  spec.project = "guests";
  EXPECT_EQ(domain_of(state, spec), "lab");
}

TEST_F(HoldersTest, AProjectWithoutADomainCountsInNone) {
  user("ann", "corp");
  project("open", "");
  EXPECT_EQ(domain_of(state, "ann", "open"), "");
}

TEST_F(HoldersTest, WhereTheProjectIsUnknownTheUsersDomainCounts) {
  user("ann", "corp");
  EXPECT_EQ(domain_of(state, "ann", "gone"), "corp");
  EXPECT_EQ(domain_of(state, "bob", "gone"), "");
}

}  // namespace
}  // namespace dove::core
