#include "accounts/rules.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dove::accounts {
namespace {

TEST(Rules, AreFoundByOperation) {
  EXPECT_TRUE(std::is_sorted(rules().begin(), rules().end(), [](const Rule& a, const Rule& b) {
    return a.operation < b.operation;
  }));
  for (const Rule& rule : rules()) EXPECT_EQ(&rule_of(rule.operation), &rule);
  EXPECT_EQ(rule_of("cancelJob").scope, KeyScope::kJobs);
  EXPECT_EQ(rule_of("removeNode").who, Who::kAdmin);
}

TEST(Rules, AKeyIsGoodForItsScope) {
  Caller caller;
  caller.user = "ada";
  caller.key = "0123456789ab";
  const auto code = [&](KeyScope scope, const char* operation) {
    caller.scope = scope;
    const Result<void> may = may_call(rule_of(operation), caller);
    return may.ok() ? std::string() : may.error().code;
  };
  EXPECT_EQ(code(KeyScope::kRead, "listJobs"), "");
  EXPECT_EQ(code(KeyScope::kRead, "submitJob"), "key_scope");
  EXPECT_EQ(code(KeyScope::kJobs, "submitJob"), "");
  EXPECT_EQ(code(KeyScope::kJobs, "issueKey"), "key_scope");
  EXPECT_EQ(code(KeyScope::kAll, "issueKey"), "");
  // The log holds hashes of passwords and tokens, which a key for reading is not to see.
  EXPECT_EQ(code(KeyScope::kRead, "readLog"), "admin_only");
  EXPECT_EQ(code(KeyScope::kLog, "listJobs"), "key_scope");
  EXPECT_EQ(code(KeyScope::kAll, "removeNode"), "admin_only");
  caller.admin = true;
  EXPECT_EQ(code(KeyScope::kJobs, "removeNode"), "key_scope");
  EXPECT_EQ(code(KeyScope::kAll, "removeNode"), "");
  for (const KeyScope scope : {KeyScope::kRead, KeyScope::kJobs}) {
    EXPECT_EQ(code(scope, "readLog"), "key_scope");
  }
  for (const KeyScope scope : {KeyScope::kLog, KeyScope::kAll}) {
    EXPECT_EQ(code(scope, "readLogBlobs"), "");
  }
  EXPECT_EQ(code(KeyScope::kLog, "removeNode"), "key_scope");
}

TEST(Rules, AJobsTokenIsNoUsers) {
  Caller caller;
  caller.user = "ada";
  caller.job = JobId(7);
  EXPECT_EQ(may_call(rule_of("getMetrics"), caller).error().code, "not_for_jobs");
  EXPECT_TRUE(may_call(rule_of("submitJob"), caller).ok());
}

}  // namespace
}  // namespace dove::accounts
