#include "server/sign_in/hook_person.h"

#include <gtest/gtest.h>

#include "core/state/apply.h"
#include "policies/standard.h"

namespace dove::server {
namespace {

class HookPerson : public testing::Test {
 protected:
  // Signs in, and what it changes is in force; the user's name, or the error's code.
  std::string sign_in(const hook::Person& answer) {
    const auto person = hook_person(state, policies, answer);
    if (!person.ok()) return person.error().code;
    for (const Event& event : person->changes) core::apply(state, {event, Cause{}});
    return person->user;
  }
  void declare(UserDeclaration user) {
    core::apply(state, {ObjectApplied{std::move(user)}, Cause{}});
  }
  static UserDeclaration user_of(const std::string& name) {
    UserDeclaration user;
    user.name = name;
    return user;
  }
  std::vector<std::string> members(const std::string& group) {
    const auto found = state.groups.find(group);
    return found == state.groups.end() ? std::vector<std::string>{} : found->second.users;
  }

  const core::Policies policies = policies::standard_policies();
  core::State state;
};

TEST_F(HookPerson, IsMadeAtTheFirstSignIn) {
  EXPECT_EQ(sign_in({"ada", "", "ada_l", std::nullopt}), "ada");
  EXPECT_EQ(state.users.at("ada").linux_user, "ada_l");
  EXPECT_EQ(state.users.at("ada").identity, "hook ada");
  EXPECT_EQ(sign_in({"ada", "", "other", std::nullopt}), "ada");
  EXPECT_EQ(state.users.at("ada").linux_user, "ada_l") << "an administrator's to change";
  EXPECT_EQ(sign_in({"eve", "", "root", std::nullopt}), "bad_user_claim");
  EXPECT_EQ(sign_in({"bob", "", "", std::nullopt}), "bob");
  EXPECT_EQ(state.users.at("bob").linux_user, "");
}

TEST_F(HookPerson, IsADeclaredUserOfThatName) {
  declare(user_of("ada"));
  EXPECT_EQ(sign_in({"ada", "", "", std::nullopt}), "ada");
  UserDeclaration others = user_of("bob");
  others.identity = "https://id.example.org 7";
  declare(others);
  EXPECT_EQ(sign_in({"bob", "", "", std::nullopt}), "name_taken");
  UserDeclaration robot = user_of("robot");
  robot.service_of = "vision";
  declare(robot);
  EXPECT_EQ(sign_in({"robot", "", "", std::nullopt}), "name_taken");
  core::apply(state, {ObjectApplied{Domain{"physics", ""}}, Cause{}});
  UserDeclaration eve = user_of("eve");
  eve.domain = "physics";
  declare(eve);
  EXPECT_EQ(sign_in({"eve", "", "", std::nullopt}), "user_not_linked");
}

TEST_F(HookPerson, IsKnownByTheIdWhereThereIsOne) {
  EXPECT_EQ(sign_in({"ada", "17", "", std::nullopt}), "ada");
  EXPECT_EQ(sign_in({"ada.lovelace", "17", "", std::nullopt}), "ada");
  EXPECT_EQ(sign_in({"ada", "18", "", std::nullopt}), "name_taken") << "the name has a new owner";
}

TEST_F(HookPerson, StaysOutWhereTheServerSaysSo) {
  UserDeclaration ada = user_of("ada");
  ada.disabled = true;
  declare(ada);
  EXPECT_EQ(sign_in({"ada", "", "", {{"ml"}}}), "user_disabled");
  EXPECT_TRUE(state.groups.empty());
  for (const char* name : {"admin", "controller"}) {
    EXPECT_EQ(sign_in({name, "", "", std::nullopt}), "bad_account");
  }
  for (const std::string& name :
       {std::string("../ada"), std::string("ada bob"), std::string("agent:n1"), std::string("é"),
        std::string(65, 'a')}) {
    EXPECT_EQ(sign_in({name, "", "", std::nullopt}), "hook_failed") << name;
  }
}

TEST_F(HookPerson, IsInTheGroupsThatItNames) {
  EXPECT_EQ(sign_in({"ada", "", "", {{"ml", "/physics/hep"}}}), "ada");
  EXPECT_EQ(members("hook.ml"), std::vector<std::string>{"ada"});
  EXPECT_EQ(members("hook.physics.hep"), std::vector<std::string>{"ada"});
  EXPECT_EQ(sign_in({"ada", "", "", std::nullopt}), "ada");
  EXPECT_EQ(members("hook.ml"), std::vector<std::string>{"ada"}) << "they are left alone";
  EXPECT_EQ(sign_in({"ada", "", "", std::vector<std::string>{}}), "ada");
  EXPECT_EQ(members("hook.ml"), std::vector<std::string>{});
}

}  // namespace
}  // namespace dove::server
