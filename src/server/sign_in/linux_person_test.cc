#include "server/sign_in/linux_person.h"

#include <gtest/gtest.h>

namespace dove::server {
namespace {

class Account : public testing::Test {
 protected:
  void declare(const std::string& name, const std::string& linux_user) {
    UserDeclaration user;
    user.name = name;
    user.linux_user = linux_user;
    state.users[name] = user;
  }
  // The user's name, with "+" when it is made; or the error's code.
  std::string whose(const std::string& account, std::uint32_t uid = 1000) {
    const auto person = linux_person(state, {account, uid});
    if (!person.ok()) return person.error().code;
    return (person->made.has_value() ? "+" : "") + person->user;
  }

  core::State state;
};

TEST_F(Account, IsOfTheUserWhoseTasksRunAsIt) {
  declare("ada", "ada_l");
  EXPECT_EQ(whose("ada_l"), "ada");
  declare("robot", "ada_l");
  EXPECT_EQ(whose("ada_l"), "user_ambiguous");
  declare("ada_l", "ada_l");
  EXPECT_EQ(whose("ada_l"), "ada_l");
}

TEST_F(Account, MakesAUserOfItsNameWhereNoneHasIt) {
  const auto person = linux_person(state, {"grace", 1000});
  ASSERT_TRUE(person.ok());
  EXPECT_EQ(person->made->linux_user, "grace");
  declare("grace", "");  // somebody else, for all that is known
  EXPECT_EQ(whose("grace"), "name_taken");
}

TEST_F(Account, OfRootAndOfNoNameSignsNobodyIn) {
  EXPECT_EQ(whose("root", 0), "bad_account");
  EXPECT_EQ(whose("toor", 0), "bad_account");
  for (const char* name : {"admin", "controller", "a b", "", "x:y"}) {
    EXPECT_EQ(whose(name), "bad_account") << name;
  }
}

TEST_F(Account, OfSomebodyDisabledStaysOut) {
  declare("ada", "ada");
  state.users["ada"].disabled = true;
  EXPECT_EQ(whose("ada"), "user_disabled");
}

// A service account runs its tasks as somebody's account, and is nobody who signs in.
TEST_F(Account, IsNotOfAServiceAccount) {
  declare("ci", "ada");
  state.users["ci"].service_of = "vision";
  EXPECT_EQ(whose("ada"), "+ada");
}

}  // namespace
}  // namespace dove::server
