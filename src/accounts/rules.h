// Rules: who may call which operation of the API, as api/authz.yaml says.
//
// The table is made from that file when the build is configured, which fails when an operation of
// api/openapi.yaml has no line there. Pure.
#pragma once

#include <span>
#include <string_view>

#include "accounts/caller.h"
#include "base/result.h"

namespace dove::accounts {

enum class Who {
  kAnyone,
  kPerson,   // the administrator's token, a user's, a key of theirs, or a running job's token
  kVisitor,  // the same, and the token of an entry to a job's app
  kUser,     // the same as kPerson without jobs' tokens
  kAdmin,
  kAgent,    // the token of the node that the path's first parameter names, and with TLS its
             // certificate
  kNode,     // that token alone: of a node whose certificate has ended, too
  kJoin,     // a join token that is not used up; the handler looks whom it is for
  kGateway,  // the token of the SSH gateway, which is good for nothing else
};

// The part of the cluster that it is about: see access.h.
enum class On {
  kAll,   // what everybody may know, or the administrator's to change
  kSeen,  // what the caller may see: may_see()
  kTeam,  // what the caller may read: may_read()
  kOwn,   // what is the caller's own: may_act()
  kRole,  // what the caller's roles let them change: may_apply()
  kJob,   // the running job whose token is shown, and nothing else
};

struct Rule {
  std::string_view operation;  // operationId
  Who who = Who::kAdmin;
  KeyScope scope = KeyScope::kAll;  // what a key must be good for
  On on = On::kAll;
};

// By operation; made from api/authz.yaml (authz() in part.cmake).
std::span<const Rule> rules();
// REQUIRES: the operation is one of api/openapi.yaml.
const Rule& rule_of(std::string_view operation);

// Whether a caller who has shown a token may call it at all; the handlers look at what it is about.
// Errors: kDenied not_for_jobs, not_for_entries, admin_only, key_scope, ssh_only.
Result<void> may_call(const Rule& rule, const Caller& caller);

}  // namespace dove::accounts
