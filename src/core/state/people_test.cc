#include "core/state/people.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

class People : public testing::Test {
 protected:
  void bind(std::string name, Role role, std::string domain, std::string project,
            std::vector<std::string> users, std::vector<std::string> groups = {}) {
    state.bindings[name] = {
        name, role, std::move(domain), std::move(project), std::move(users), std::move(groups)};
  }
  void project(const std::string& name, const std::string& domain) {
    Project one;
    one.name = name;
    one.domain = domain;
    state.projects[name] = one;
  }
  Roles in(const std::string& project, const std::string& user) {
    return standing_of(state, user).in_project(state, project);
  }

  State state;
};

TEST_F(People, RolesAreInheritedDownwards) {
  project("vision", "corp");
  project("other", "rival");
  bind("c", Role::kViewer, "", "", {"cy"});
  bind("d", Role::kManager, "corp", "", {"di"});
  bind("p", Role::kMember, "", "vision", {"pa"});
  EXPECT_TRUE(in("vision", "cy").at_least(Role::kViewer));
  EXPECT_FALSE(in("vision", "cy").at_least(Role::kMember));
  EXPECT_TRUE(in("vision", "di").at_least(Role::kManager));
  EXPECT_TRUE(in("other", "di").empty());
  EXPECT_TRUE(in("vision", "pa").at_least(Role::kViewer));
  EXPECT_FALSE(in("vision", "pa").at_least(Role::kManager));
  EXPECT_TRUE(standing_of(state, "pa").in_domain("corp").empty());
  EXPECT_TRUE(in("nowhere", "pa").empty());
}

TEST_F(People, AnAuditorLooksAndChangesNothing) {
  project("vision", "");
  bind("a", Role::kAuditor, "", "", {"al"});
  EXPECT_TRUE(in("vision", "al").at_least(Role::kViewer));
  EXPECT_FALSE(in("vision", "al").at_least(Role::kMember));
  EXPECT_TRUE(in("vision", "al").at_least(Role::kAuditor));
  bind("b", Role::kAdmin, "", "", {"bo"});
  EXPECT_TRUE(in("vision", "bo").at_least(Role::kAuditor));
}

TEST_F(People, GroupsHoldGroups) {
  project("vision", "");
  state.groups["inner"] = {"inner", "", {"ada"}, {}};
  state.groups["middle"] = {"middle", "", {}, {"inner"}};
  state.groups["outer"] = {"outer", "", {"bob"}, {"middle"}};
  bind("p", Role::kMember, "", "vision", {}, {"outer"});
  EXPECT_TRUE(in("vision", "ada").at_least(Role::kMember));
  EXPECT_TRUE(in("vision", "bob").at_least(Role::kMember));
  EXPECT_TRUE(in("vision", "eve").empty());
  EXPECT_EQ(circle_of(state, {"inner", "", {}, {"outer"}}),
            (std::vector<std::string>{"inner", "outer", "middle", "inner"}));
  EXPECT_EQ(circle_of(state, {"inner", "", {}, {"inner"}}),
            (std::vector<std::string>{"inner", "inner"}));
  EXPECT_TRUE(circle_of(state, {"outer", "", {}, {"inner"}}).empty());
}

TEST_F(People, AProjectIsOpenUntilSomebodySaysWhoseItIs) {
  project("vision", "corp");
  const Project& vision = state.projects.at("vision");
  EXPECT_TRUE(is_member(state, vision, "eve"));
  bind("c", Role::kViewer, "", "", {"cy"});  // says nothing about the project
  EXPECT_TRUE(is_member(state, vision, "eve"));
  bind("d", Role::kMember, "corp", "", {"di"});
  EXPECT_FALSE(is_member(state, vision, "eve"));
  EXPECT_FALSE(is_member(state, vision, "cy"));
  EXPECT_TRUE(is_member(state, vision, "di"));
  bind("e", Role::kMember, "", "vision", {"*"});
  EXPECT_TRUE(is_member(state, vision, "eve"));
}

TEST_F(People, WhatAFormerLogSaysCountsUntilItIsABinding) {
  project("vision", "");
  state.projects.at("vision").users = {"zoe", "ada"};
  state.users["root"].admin = true;
  const Project& vision = state.projects.at("vision");
  EXPECT_TRUE(is_member(state, vision, "ada"));
  EXPECT_FALSE(is_member(state, vision, "eve"));
  EXPECT_TRUE(standing_of(state, "root").cluster.has(Role::kAdmin));
}

// Another person of the same name must not get what the first one had.
TEST_F(People, WhatAUserHadGoesWithThem) {
  project("vision", "");
  state.users["ada"].name = "ada";
  state.groups["staff"] = {"staff", "", {"ada", "bob"}, {}};
  state.keys["k"].user = "ada";
  bind("p", Role::kMember, "", "vision", {"ada"});
  drop_user(state, "ada");
  EXPECT_TRUE(in("vision", "ada").empty());
  EXPECT_EQ(state.groups.at("staff").users, std::vector<std::string>{"bob"});
  EXPECT_TRUE(state.keys.empty());
  // The project stays closed.
  EXPECT_FALSE(is_member(state, state.projects.at("vision"), "eve"));
}

TEST_F(People, BindingsGoWithTheirLevel) {
  project("vision", "corp");
  bind("p", Role::kMember, "", "vision", {"ada"});
  bind("d", Role::kMember, "corp", "", {"ada"});
  drop_project_bindings(state, "vision");
  EXPECT_FALSE(state.bindings.contains("p"));
  drop_domain(state, "corp");
  EXPECT_TRUE(state.bindings.empty());
}

TEST_F(People, TheOldestSessionEndsWhenThereAreTooMany) {
  for (int i = 0; i < 25; ++i) {
    state.now = Instant{1'000 + i};
    Key session;
    session.id = "s" + std::to_string(i);
    session.user = "ada";
    session.expires_at = Instant{2'000};
    session.kind = KeyKind::kSession;
    add_key(state, {session.id, session});
  }
  EXPECT_EQ(state.keys.size(), 20U);
  EXPECT_FALSE(state.keys.contains("s4"));
  EXPECT_TRUE(state.keys.contains("s5"));
}

}  // namespace
}  // namespace dove::core
