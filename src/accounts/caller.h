// Caller: who makes a request, by what they have shown.
#pragma once

#include <string>

#include "model/ids.h"
#include "model/key.h"

namespace dove::accounts {

struct Caller {
  std::string user;  // who acts: for an agent "agent:<node>"
  bool admin = false;
  JobId job;  // of a job's token
  AttemptNumber attempt = 0;
  NodeId node;                      // of an agent's token
  std::string key;                  // the id of a key; "": of another token
  KeyScope scope = KeyScope::kAll;  // of that key
};

}  // namespace dove::accounts
