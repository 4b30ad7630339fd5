#include "core/admit/admit_people.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitPeople : public testing::Test {
 protected:
  static std::string code(const Result<void>& result) { return result ? "" : result.error().code; }
  std::string refused(const Declared& object) const {
    return code(check_people(cluster.state, object));
  }
  std::string message(const Declared& object) const {
    return check_people(cluster.state, object).error().message;
  }
  UserDeclaration& user(const std::string& name) {
    UserDeclaration& one = cluster.state.users[name];
    one.name = name;
    return one;
  }
  Project& project(const std::string& name) {
    Project& one = cluster.state.projects[name];
    one.name = name;
    return one;
  }
  void group(const std::string& name, std::vector<std::string> groups = {}) {
    cluster.state.groups[name] = {name, "", {}, std::move(groups)};
  }
  void bind(const std::string& name, Role role, std::vector<std::string> users,
            std::vector<std::string> groups = {}) {
    cluster.state.bindings[name] = {name, role, "", "vision", std::move(users), std::move(groups)};
  }
  std::string key_refused(KeyKind kind = KeyKind::kKey, const char* of = "ann") const {
    Key key;
    key.user = of;
    key.kind = kind;
    return code(check_key(cluster.state, key));
  }
  void issue(int count, Instant expires_at, KeyKind kind = KeyKind::kKey) {
    for (int i = 0; i < count; ++i) {
      Key key;
      key.id = fmt::format("k{}", cluster.state.keys.size());
      key.user = "ann";
      key.kind = kind;
      key.expires_at = expires_at;
      cluster.state.keys[key.id] = key;
    }
  }
  static IdleRule rule() {
    IdleRule rule;
    rule.name = "all";
    rule.no_input_for = seconds(3600);
    return rule;
  }

  using Texts = std::vector<std::string>;
  TestCluster cluster;
};

TEST_F(AdmitPeople, OnlyADisabledUserSubmitsNothing) {
  const auto submits = [&] { return code(check_submitter(cluster.state, "ann")); };
  EXPECT_EQ(submits(), "") << "users need not be declared";
  user("ann");
  EXPECT_EQ(submits(), "");
  user("ann").disabled = true;
  EXPECT_EQ(submits(), "user_disabled");
}

TEST_F(AdmitPeople, WhoIsNoMemberIsToldWhoCanMakeThemOne) {
  const Project vision = project("vision");
  const auto asked = [&](const char* who) { return check_member(cluster.state, vision, who); };
  EXPECT_TRUE(asked("ann").ok()) << "nobody said who its members are";
  bind("members", Role::kMember, {"bob"});
  EXPECT_TRUE(asked("bob").ok());
  EXPECT_EQ(code(asked("ann")), "not_in_project");
  EXPECT_NE(asked("ann").error().message.find("ask an administrator for"), std::string::npos);
  bind("managers", Role::kManager, {"mia"}, {"heads"});
  EXPECT_NE(asked("ann").error().message.find("ask mia or group heads for"), std::string::npos);
  bind("more", Role::kAdmin, {"mia", "m1", "m2"});
  EXPECT_NE(asked("ann").error().message.find("ask mia or group heads or m1 for"),
            std::string::npos)
      << "three at most";
}

TEST_F(AdmitPeople, AKeyIsADeclaredUsersOrTheAdministrators) {
  EXPECT_EQ(key_refused(), "no_such_user");
  user("ann");
  EXPECT_EQ(key_refused(), "");
  Key administrators;
  administrators.is_administrators = true;
  EXPECT_TRUE(check_key(cluster.state, administrators).ok());
}

TEST_F(AdmitPeople, AHundredKeysThatAreValidAreTheMost) {
  user("ann");
  user("bob");
  const Instant later = cluster.state.now + seconds(1);
  issue(99, later);
  issue(10, cluster.state.now);  // expired
  issue(10, later, KeyKind::kSession);
  EXPECT_EQ(key_refused(), "");
  issue(1, later);
  EXPECT_EQ(key_refused(), "too_many_keys");
  EXPECT_EQ(key_refused(KeyKind::kKey, "bob"), "");
  EXPECT_EQ(key_refused(KeyKind::kSession), "") << "the oldest session ends instead";
  cluster.pass(seconds(1));
  EXPECT_EQ(key_refused(), "");
}

TEST_F(AdmitPeople, AGroupNamesWhatThereIs) {
  group("readers");
  EXPECT_EQ(refused(Group{"all", "", {}, {"readers"}}), "");
  EXPECT_EQ(refused(Group{"all", "", {}, {"reader"}}), "group_unknown");
  EXPECT_NE(message(Group{"all", "", {}, {"reader"}}).find("did you mean \"readers\"?"),
            std::string::npos);
  EXPECT_EQ(refused(Group{"all", "corp", {}, {}}), "domain_unknown");
}

TEST_F(AdmitPeople, AGroupHoldsNotItself) {
  group("inner");
  group("middle", {"inner"});
  EXPECT_EQ(refused(Group{"outer", "", {}, {"middle"}}), "");
  EXPECT_EQ(refused(Group{"inner", "", {}, {"middle"}}), "group_circle");
  EXPECT_EQ(refused(Group{"new", "", {}, {"new"}}), "group_circle");
}

TEST_F(AdmitPeople, ABindingIsOnWhatThereIs) {
  Binding binding;
  EXPECT_EQ(refused(binding), "");
  binding.project = "vision";
  EXPECT_EQ(refused(binding), "project_unknown");
  project("vision");
  EXPECT_EQ(refused(binding), "");
  binding.domain = "corp";
  EXPECT_EQ(refused(binding), "domain_unknown");
  binding.domain.clear();
  binding.groups = {"readers"};
  EXPECT_EQ(refused(binding), "group_unknown");
}

TEST_F(AdmitPeople, AnExecutorsAccountAndQueuesAndAUsersProjectExist) {
  Executor executor;
  executor.name = "slurm";
  executor.service_account = "adapter";
  EXPECT_EQ(refused(executor), "user_unknown");
  user("adapter");
  executor.queues = {{"lab", ""}, {"other", "team"}};
  EXPECT_EQ(refused(executor), "queue_unknown");
  executor.queues["other"] = "default";
  EXPECT_EQ(refused(executor), "");
  UserDeclaration service;
  service.service_of = "vision";
  EXPECT_EQ(refused(service), "project_unknown");
  EXPECT_EQ(refused(queue_of("anything", "else")), "") << "not asked here";
}

TEST_F(AdmitPeople, AnIdleRuleLooksAtSomething) {
  EXPECT_EQ(refused(rule()), "");
  EXPECT_EQ(refused(IdleRule{}), "bad_idle_rule");
  IdleRule exempt;
  exempt.exempt = true;
  EXPECT_EQ(refused(exempt), "");
  IdleRule wrong = rule();
  wrong.projects = {"vision"};
  EXPECT_EQ(refused(wrong), "project_unknown");
}

TEST_F(AdmitPeople, AThresholdOfUseAndItsWindowComeTogether) {
  IdleRule use = rule();
  use.gpu_percent = 5;
  EXPECT_EQ(refused(use), "bad_idle_rule") << "over which time?";
  use.window = seconds(7 * 86'400);
  EXPECT_EQ(refused(use), "");
  use.window = seconds(7 * 86'400 + 1);
  EXPECT_EQ(refused(use), "bad_idle_rule") << "measurements are not kept so long";
  use.window = seconds(600);
  use.gpu_percent = 0;
  EXPECT_EQ(refused(use), "bad_idle_rule") << "nothing is below 0 %";
  use.gpu_percent = -1;
  EXPECT_EQ(refused(use), "bad_idle_rule") << "of what?";
}

TEST_F(AdmitPeople, AWarningComesBeforeTheLifetimeIsOver) {
  IdleRule lifetime = rule();
  lifetime.lifetime = lifetime.warning + seconds(1);
  EXPECT_EQ(refused(lifetime), "");
  lifetime.lifetime = lifetime.warning;
  EXPECT_EQ(refused(lifetime), "bad_idle_rule");
}

TEST_F(AdmitPeople, NamesThatNobodyDeclaredAreWarnedOfWhereAnybodyIs) {
  const Group readers{"readers", "", {"*", "anna", "ben"}, {}};
  const auto warnings = [&] { return people_warnings(cluster.state, readers); };
  EXPECT_EQ(warnings(), Texts{}) << "users are free text";
  user("anne");
  user("ben");
  EXPECT_EQ(warnings(), Texts{"user \"anna\" is not declared; did you mean \"anne\"?; `dove token "
                              "create --create anna` declares one"});
  Binding binding;
  binding.users = {"carl"};
  EXPECT_EQ(people_warnings(cluster.state, binding).size(), 1u);
}

TEST_F(AdmitPeople, AProjectThatIsOpenToEverybodyIsWarnedOf) {
  const Project vision = project("vision");
  EXPECT_EQ(people_warnings(cluster.state, vision).size(), 1u);
  bind("members", Role::kMember, {"bob"});
  EXPECT_EQ(people_warnings(cluster.state, vision), Texts{});
}

TEST_F(AdmitPeople, ADomainWithProjectsStays) {
  project("vision").domain = "corp";
  EXPECT_EQ(code(domain_empty(cluster.state, "corp")), "domain_has_projects");
  EXPECT_EQ(code(domain_empty(cluster.state, "lab")), "");
}

TEST_F(AdmitPeople, AUserStaysWhileJobsWaitOrRun) {
  const auto idle = [&] { return code(user_idle(cluster.state, "ann")); };
  EXPECT_EQ(idle(), "");
  cluster.add_node({});
  const JobId job = cluster.submit();
  EXPECT_EQ(idle(), "user_has_jobs");
  cluster.launch(job);
  cluster.start(job);
  EXPECT_EQ(idle(), "user_has_jobs");
  cluster.end(job);
  EXPECT_EQ(idle(), "");
  EXPECT_EQ(code(user_idle(cluster.state, "bob")), "");
}

}  // namespace
}  // namespace dove::core
