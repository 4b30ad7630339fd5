// People: who may call, what they belong to, and what they are there.
//
// Declared by administrators, as the rest of declared.h. A role is held by a binding alone: there
// is no other list of members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/labels.h"
#include "model/time.h"

namespace dove {

enum class NoticeBy : std::uint8_t { kMail, kWebhook, kSlack };

enum class NoticeAbout : std::uint8_t {
  kJobStarted,
  kJobEnded,       // in any way
  kJobFailed,      // in a way that its user did not want
  kJobStartsSoon,  // as promised
  kJobStopsSoon,   // at its time limit, or for somebody else
  kSessionIdle,    // it is ended unless somebody uses or keeps it
  kNodeSick,       // for administrators
};

// Where a person hears of what.
struct NoticeTarget {
  NoticeBy by = NoticeBy::kMail;
  std::string to;                  // an address, a URL
  std::vector<NoticeAbout> about;  // ascending
  bool operator==(const NoticeTarget&) const = default;
};

// Who may call, and as whom their tasks run.
struct UserDeclaration {
  std::string name;
  std::string linux_user;  // "" : refuse to run tasks, except under `dove up`
  // Former logs say it here; a binding says it now (server/former_members.h).
  bool admin = false;
  std::string token_sha256;  // hex; "" : no token yet
  std::string domain;        // the organisation that the user belongs to
  bool disabled = false;     // their tokens, keys and sessions are refused; their jobs go on
  // A service account of that project: its managers make its keys. "": a person.
  std::string service_of;
  // "ISSUER SUBJECT" of the sign-in service's account that is this user; "": none. Set at the first
  // sign-in: a name can be given to somebody else, a subject cannot (OpenID Connect Core, 5.7).
  std::string identity;
  std::vector<std::string> ssh_keys;  // "ssh-ed25519 AAAA... comment", in the order given
  std::vector<NoticeTarget> notices;
  std::string password_hash = {};  // of a password that is only known here (argon2id); "": none
  Instant token_expires_at = {};   // of token_sha256; 0: never
  Labels labels = {};
  bool operator==(const UserDeclaration&) const = default;
};

// Each role but the auditor's holds the ones before it. docs/operate/people.md has the table.
enum class Role : std::uint8_t {
  kViewer,   // looks at the jobs there, and at what they print
  kMember,   // submits for the projects there
  kManager,  // acts on all jobs there, and says who is a member
  kAdmin,    // changes all that is declared there
  kAuditor,  // looks at everything there, and at who did what
};

// Users who get roles together. Groups may hold groups, in no circle.
struct Group {
  std::string name;
  std::string domain;               // whose administrators change it; "": the cluster's
  std::vector<std::string> users;   // ascending
  std::vector<std::string> groups;  // ascending
  Labels labels = {};
  bool operator==(const Group&) const = default;
};

// A role on the cluster (neither domain nor project), on a domain with its projects, or on a
// project. "*" among the users is everybody.
struct Binding {
  std::string name;
  Role role = Role::kMember;
  std::string domain;
  std::string project;
  std::vector<std::string> users;   // ascending
  std::vector<std::string> groups;  // ascending
  Labels labels = {};
  bool operator==(const Binding&) const = default;
};

}  // namespace dove
