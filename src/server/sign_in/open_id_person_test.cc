#include "server/sign_in/open_id_person.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/state/apply.h"
#include "policies/standard.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

class Person : public testing::Test {
 protected:
  Person() {
    provider.name = "corp";
    provider.title = "Example Corp";
    provider.issuer = "https://id.example.org";
    provider.groups_claim = "groups";
    provider.group_prefix = "corp.";
  }

  Json claims(const std::string& subject, const std::string& name,
              const Json& groups = Json::array()) {
    return {{"sub", subject}, {"preferred_username", name}, {"groups", groups}};
  }
  // Signs in, and what it changes is in force; the user's name, or the error's code.
  std::string sign_in(const Json& with) {
    const auto person = open_id_person(state, policies, provider, with);
    if (!person.ok()) return person.error().code;
    changes = person->changes.size();
    left_out = person->groups_left_out;
    for (const Event& event : person->changes) core::apply(state, {event, Cause{}});
    return person->user;
  }
  static UserDeclaration user_of(const std::string& name, const std::string& linux_user = "") {
    UserDeclaration user;
    user.name = name;
    user.linux_user = linux_user;
    return user;
  }
  void declare(UserDeclaration user) {
    core::apply(state, {ObjectApplied{std::move(user)}, Cause{}});
  }
  std::vector<std::string> members(const std::string& group) {
    const auto found = state.groups.find(group);
    return found == state.groups.end() ? std::vector<std::string>{} : found->second.users;
  }

  const core::Policies policies = policies::standard_policies();
  core::State state;
  openid::Provider provider;
  std::size_t changes = 0;
  std::vector<std::string> left_out;
};

TEST_F(Person, IsMadeAtTheFirstSignInAndKnownByTheSubjectAfterwards) {
  EXPECT_EQ(sign_in(claims("17", "ada")), "ada");
  EXPECT_EQ(state.users.at("ada").identity, "https://id.example.org 17");
  // What they are called there may change; who they are does not.
  EXPECT_EQ(sign_in(claims("17", "ada.lovelace")), "ada");
  EXPECT_EQ(changes, 0u);
  EXPECT_EQ(state.users.size(), 1u);
}

TEST_F(Person, TakesNobodysName) {
  EXPECT_EQ(sign_in(claims("17", "ada")), "ada");
  EXPECT_EQ(sign_in(claims("18", "ada")), "name_taken");
  declare(user_of("bob"));
  EXPECT_EQ(sign_in(claims("19", "bob")), "user_not_linked");
  UserDeclaration robot = user_of("robot");
  robot.service_of = "vision";
  declare(robot);
  provider.links_users = true;
  EXPECT_EQ(sign_in(claims("20", "robot")), "name_taken");
  for (const char* reserved : {"admin", "controller", "agent:n1", "../ada", "", "ada bob"}) {
    const std::string code = sign_in(claims("21", reserved));
    EXPECT_TRUE(code == "bad_user_claim" || code == "no_user_claim") << reserved << ": " << code;
  }
  // Another issuer's 17 is somebody else.
  provider.issuer = "https://other.example.org";
  EXPECT_EQ(sign_in(claims("17", "ada")), "name_taken");
}

TEST_F(Person, IsLinkedWhereTheSettingsSaySo) {
  declare(user_of("bob", "bob_l"));
  provider.links_users = true;
  EXPECT_EQ(sign_in(claims("19", "bob")), "bob");
  EXPECT_EQ(state.users.at("bob").linux_user, "bob_l");
  EXPECT_EQ(state.users.at("bob").identity, "https://id.example.org 19");
  core::apply(state, {ObjectApplied{Domain{"physics", ""}}, Cause{}});
  UserDeclaration eve = user_of("eve");
  eve.domain = "physics";
  declare(eve);
  EXPECT_EQ(sign_in(claims("20", "eve")), "user_not_linked");
}

TEST_F(Person, MustBeDeclaredWhereTheSettingsSaySo) {
  provider.creates_users = false;
  EXPECT_EQ(sign_in(claims("17", "ada")), "user_unknown");
  EXPECT_TRUE(state.users.empty());
}

TEST_F(Person, WhoIsDisabledHereStaysOut) {
  EXPECT_EQ(sign_in(claims("17", "ada")), "ada");
  UserDeclaration ada = state.users.at("ada");
  ada.disabled = true;
  declare(ada);
  EXPECT_EQ(sign_in(claims("17", "ada", {"ml"})), "user_disabled");
  EXPECT_TRUE(state.groups.empty());
}

TEST_F(Person, HasALinuxUserWhereAClaimNamesOne) {
  provider.linux_user_claim = "uid";
  Json ada = claims("17", "ada");
  EXPECT_EQ(sign_in(ada), "bad_user_claim");
  ada["uid"] = "root";
  EXPECT_EQ(sign_in(ada), "bad_user_claim");
  ada["uid"] = "ada_l";
  EXPECT_EQ(sign_in(ada), "ada");
  EXPECT_EQ(state.users.at("ada").linux_user, "ada_l");
}

TEST_F(Person, IsNobodyByAnAddressThatIsNotVerified) {
  provider.user_claim = "email";
  provider.links_users = true;
  declare(user_of("bob@example.org"));
  Json eve{{"sub", "17"}, {"email", "bob@example.org"}, {"email_verified", false}};
  EXPECT_EQ(sign_in(eve), "bad_user_claim");
  eve["email_verified"] = true;
  EXPECT_EQ(sign_in(eve), "bob@example.org");
}

TEST_F(Person, IsInTheGroupsThatTheClaimNames) {
  EXPECT_EQ(sign_in(claims("17", "ada", {"ml", "/physics/hep"})), "ada");
  EXPECT_EQ(sign_in(claims("18", "bob", {"ml"})), "bob");
  EXPECT_EQ(members("corp.ml"), (std::vector<std::string>{"ada", "bob"}));
  EXPECT_EQ(members("corp.physics.hep"), (std::vector<std::string>{"ada"}));
  // Groups that are not this provider's are left alone.
  core::apply(state, {ObjectApplied{Group{"lab", "", {"ada"}, {}}}, Cause{}});
  EXPECT_EQ(sign_in(claims("17", "ada", {"physics/hep"})), "ada");
  EXPECT_EQ(changes, 1u);
  EXPECT_EQ(members("corp.ml"), (std::vector<std::string>{"bob"}));
  EXPECT_EQ(members("lab"), (std::vector<std::string>{"ada"}));
  // One name in place of a list; what can be no name is left out and said.
  EXPECT_EQ(sign_in(claims("18", "bob", "ml")), "bob");
  EXPECT_EQ(changes, 0u);
  EXPECT_EQ(sign_in(claims("18", "bob", {"ml", "all staff", 7})), "bob");
  EXPECT_EQ(left_out, (std::vector<std::string>{"all staff", ""}));
  // A path and a name that looks like it are two groups.
  EXPECT_EQ(sign_in(claims("19", "eve", {"physics.hep", "a/.b", ".x", "y.", "p//q"})), "eve");
  EXPECT_EQ(members("corp.physics.hep"), (std::vector<std::string>{"ada"}));
  EXPECT_EQ(members("corp.physics..hep"), (std::vector<std::string>{"eve"}));
  EXPECT_EQ(left_out, (std::vector<std::string>{"a/.b", ".x", "y.", "p//q"}));
  // Without the claim they are in none of its groups.
  Json none = claims("18", "bob");
  none.erase("groups");
  EXPECT_EQ(sign_in(none), "bob");
  EXPECT_EQ(members("corp.ml"), (std::vector<std::string>{}));
}

}  // namespace
}  // namespace dove::server
