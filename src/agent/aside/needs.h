// Needs: what an attempt or a step requires of users and file systems outside the agent's own data,
// before it is planned.
//
// Any of these may never answer, so they are met on a side thread (agent/aside/side_threads.h).
// Planning and starting then touch none of them again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dove::agent {

struct Needs {
  std::string node;
  std::string linux_user;           // is looked up; "": the agent's own
  std::string workdir;              // has to be there; "": nothing has
  std::vector<std::string> places;  // made for the user where they are missing, or logged
  // The same as SHARED/KIND/NAME, where nobody but the administrator may change SHARED/KIND.
  std::vector<std::string> shared_places;
  bool contained = false;  // the user is one of a container
  bool as_root = false;    // of that container
};

// Errors say why nothing can be started: no such directory, or one of shared_places is where others
// could put theirs (place_not_guarded), or that the directory of users cannot tell now
// (kUsers_away: it may do so later). A user that does not exist is the plan's to complain of.
Result<void> meet(const Needs& needs);

}  // namespace dove::agent
