#include "accounts/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace dove::accounts {
namespace {

struct Scope {
  std::string_view word;  // as people give it
  std::string_view good_for;
};
constexpr std::array<Scope, 4> kScopes{{{"read", "reading"},
                                        {"jobs", "reading and the user's own jobs"},
                                        {"all", "all that its user may do"},
                                        {"log", "copying the log"}}};

// What a token of an SSH connection is good for, about its own job.
constexpr std::array<std::string_view, 3> kOfSsh{"getJob", "openExec", "openForward"};

const Scope& scope_of(KeyScope scope) { return kScopes.at(static_cast<std::size_t>(scope)); }

}  // namespace

const Rule& rule_of(std::string_view operation) {
  const auto found = std::lower_bound(
      rules().begin(), rules().end(), operation,
      [](const Rule& rule, std::string_view name) { return rule.operation < name; });
  CHECK(found != rules().end() && found->operation == operation,
        "every operation of api/openapi.yaml has a rule");
  return *found;
}

Result<void> may_call(const Rule& rule, const Caller& caller) {
  if (caller.ssh.job && std::find(kOfSsh.begin(), kOfSsh.end(), rule.operation) == kOfSsh.end()) {
    return Error{ErrorKind::kDenied, "ssh_only",
                 fmt::format("this token is an SSH connection's, which enters job {} and does "
                             "nothing else; use your own token here",
                             caller.ssh.job.value),
                 ""};
  }
  if (caller.entry && rule.who != Who::kVisitor) {
    return Error{ErrorKind::kDenied, "not_for_entries",
                 fmt::format("this token lets a browser in to the app of job {}, and is good for "
                             "nothing else",
                             caller.entry.value),
                 ""};
  }
  if (rule.who == Who::kUser && caller.job) {
    return Error{ErrorKind::kDenied, "not_for_jobs",
                 "the token of a running job is for that job, its array and the jobs that it "
                 "submitted; use your own token here",
                 ""};
  }
  if (rule.who == Who::kAdmin && !caller.admin) {
    return Error{ErrorKind::kDenied, "admin_only",
                 "only an administrator may do this; ask one, or use the administrator's token",
                 ""};
  }
  if (!caller.key.empty() && !holds(caller.scope, rule.scope)) {
    return Error{ErrorKind::kDenied, "key_scope",
                 fmt::format("key {} is good for {}, and {} takes one for {}: `dove key create "
                             "--scope {}` makes it",
                             caller.key, scope_of(caller.scope).good_for, rule.operation,
                             scope_of(rule.scope).good_for, scope_of(rule.scope).word),
                 ""};
  }
  return {};
}

}  // namespace dove::accounts
