#include "core/state/declared/fold_declared.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/hash.h"

namespace dove::core {
namespace {

class FoldDeclared : public testing::Test {
 protected:
  void apply(const Declared& object) { fold_applied(state, object); }
  void drop(const char* kind, const char* name) { fold_deleted(state, ObjectDeleted{kind, name}); }
  void pool(const char* name, bool is_default = false) {
    Pool pool;
    pool.name = name;
    pool.nodes = {"*"};
    pool.is_default = is_default;
    apply(pool);
  }
  void secret(const char* name, const char* user, const char* project) {
    Secret secret;
    secret.name = name;
    secret.user = user;
    secret.project = project;
    apply(secret);
  }

  TestCluster cluster{2};
  State& state = cluster.state;
};

TEST_F(FoldDeclared, OnePoolIsTheDefaultThatWhichWasDeclaredSoLast) {
  pool("a", true);
  pool("b", true);
  pool("c");
  for (const auto& [name, one] : state.pools) EXPECT_EQ(one.is_default, name == "b") << name;
}

TEST_F(FoldDeclared, ADeletedPoolTakesItsCursorWithItAndTheOneCalledDefaultStays) {
  pool("a");
  state.round_robin["a"] = NodeId(1);
  drop("pool", "a");
  drop("pool", "default");
  EXPECT_FALSE(state.pools.contains("a"));
  EXPECT_FALSE(state.round_robin.contains("a"));
  EXPECT_TRUE(state.pools.contains("default"));
}

TEST_F(FoldDeclared, WhatFollowsFromTheSettingsIsBroughtInLineAtOnce) {
  ClusterSettings settings;
  settings.placement = "round_robin";
  settings.order = "learned";
  apply(settings);
  EXPECT_TRUE(state.learned.kept);
  state.round_robin["default"] = NodeId(2);
  apply(settings);
  EXPECT_FALSE(state.round_robin.empty()) << "it goes on where it was";
  apply(ClusterSettings{});
  EXPECT_TRUE(state.round_robin.empty());
  EXPECT_FALSE(state.learned.kept);
}

TEST_F(FoldDeclared, ANodeIsWhatItsDeclarationSaysUntilThatIsDeleted) {
  NodeDeclaration declared;
  declared.name = "n1";
  declared.drained = true;
  declared.cores_reserved = 3;
  apply(declared);
  EXPECT_TRUE(cluster.node(1).declared.drained);
  EXPECT_EQ(cluster.node(1).cores_free.size(), 5u);
  EXPECT_FALSE(cluster.node(2).declared.drained);
  drop("node", "n1");
  EXPECT_FALSE(cluster.node(1).declared.drained);
  EXPECT_EQ(cluster.node(1).cores_free.size(), 8u);
  EXPECT_EQ(cluster.node(1).declared.name, "n1");
}

TEST_F(FoldDeclared, ADeclarationWaitsForItsNode) {
  NodeDeclaration declared;
  declared.name = "n3";
  declared.cores_reserved = 3;
  apply(declared);
  cluster.add_node({});
  EXPECT_EQ(cluster.node(3).cores_free.size(), 5u);
}

TEST_F(FoldDeclared, SecretsGoWithTheirUserOrTheirProject) {
  secret("hers", "ann", "");
  secret("his", "bob", "");
  secret("ours", "", "vision");
  drop("user", "ann");
  EXPECT_FALSE(state.secrets.contains("hers"));
  EXPECT_EQ(state.secrets.size(), 2u);
  drop("project", "vision");
  EXPECT_FALSE(state.secrets.contains("ours"));
  EXPECT_TRUE(state.secrets.contains("his"));
  drop("secret", "his");
  EXPECT_TRUE(state.secrets.empty());
}

TEST_F(FoldDeclared, ANewTitleOfADomainLeavesTheIndexesAsTheyAre) {
  Domain corp;
  corp.name = "corp";
  apply(corp);
  state.changes.follow();
  corp.title = "The Corporation";
  apply(corp);
  EXPECT_TRUE(state.changes.is_followed());
  EXPECT_EQ(state.domains.at("corp").title, "The Corporation");
  corp.limits.cores = 8;
  apply(corp);
  EXPECT_FALSE(state.changes.is_followed());
}

TEST_F(FoldDeclared, AWarningStandsUntilItsRuleIsAnotherOneOrGone) {
  IdleRule rule;
  rule.name = "all";
  rule.no_input_for = seconds(3600);
  apply(rule);
  const JobId job = cluster.submit_and_start();
  const auto warn = [&] {
    cluster.tell(IdleObserved{job, 1, IdleCheck::kInput, "all", "no input", seconds(600)});
    return state.idle.contains(job);
  };
  ASSERT_TRUE(warn());
  apply(rule);
  EXPECT_TRUE(state.idle.contains(job)) << "applied again as it was";
  rule.no_input_for = seconds(7200);
  apply(rule);
  EXPECT_FALSE(state.idle.contains(job));
  ASSERT_TRUE(warn());
  drop("idle_rule", "all");
  EXPECT_FALSE(state.idle.contains(job));
  EXPECT_TRUE(state.idle_rules.empty());
}

TEST_F(FoldDeclared, WhatIsNotThereStaysSo) {
  cluster.submit_and_start();
  const std::uint64_t before = state_hash(state);
  for (const char* kind : {"pool", "queue", "node", "limit", "user", "project", "reservation",
                           "domain", "group", "binding", "executor", "idle_rule", "app", "settings",
                           "secret", "boot_config", "no such kind"}) {
    drop(kind, "nobody");
    EXPECT_EQ(state_hash(state), before) << kind;
  }
}

}  // namespace
}  // namespace dove::core
