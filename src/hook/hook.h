// Hook: what a site has in place of our ways to check a password: a program, or an HTTP server. It
// is shown a name and a password, and says who that is here.
//
// docs/operate/sign_in_hook.md is its contract. Values only, any thread.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace dove::hook {

struct Hook {
  std::string program;  // an absolute path; "": it is at `url`
  std::string url;
  std::string ca_file;  // of the URL's authorities; "": the system's
  std::chrono::milliseconds limit = std::chrono::seconds(10);
};

// From what an administrator has given: a path or a URL. A program is looked at: nobody but root
// and this program's user may change it, or what is in its place. Error: kInvalid bad_hook.
Result<Hook> hook_of(const std::string& given, const std::string& ca_file);

}  // namespace dove::hook
