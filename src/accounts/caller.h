// Caller: who makes a request, by what they have shown.
#pragma once

#include <string>

#include "core/state/people.h"
#include "model/ids.h"
#include "model/key.h"
#include "model/time.h"

namespace dove::accounts {

// A token that the SSH gateway was given: it enters that job as its user, and does nothing else.
struct SshEntry {
  JobId job;        // none: another token
  std::string key;  // of the user's SSH keys, as they are written (base64); "": one of `dove ssh`
  std::string opened_by;  // the id of the API key by which that one was registered; "": none
  bool is_roots = false;  // registered with the administrator's token, for a user of any name
};

struct Caller {
  std::string user;         // who acts: for an agent "agent:<node>"
  bool admin = false;       // of the whole cluster: by the administrator's token, or by a binding
  bool is_root = false;     // the administrator's token itself, or a session begun with it
  core::Standing standing;  // what bindings make of the user
  JobId job;                // of a job's token
  AttemptNumber attempt = 0;
  NodeId node;                      // of an agent's token
  std::string key;                  // the id of a key; "": of another token
  KeyScope scope = KeyScope::kAll;  // of that key
  SshEntry ssh;
  JobId entry;  // let in to the app of that job alone, and until then
  Instant entry_ends = kNever;
  // SHA-256 of the administrator's token, where it was shown and the file says it; "": another way.
  std::string file_token;
};

}  // namespace dove::accounts
