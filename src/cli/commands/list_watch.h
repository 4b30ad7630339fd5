// --watch of commands that show lists of the API: the list is drawn again once the server reports
// that it has changed (`since` of its lists), and not before. It costs the server nothing while
// nothing happens.
//
// Include only from .cc files of this part.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "cli/client/api.h"
#include "cli/command.h"

namespace dove::cli {

// Calls `render` once. With --watch again whenever `list` ("/v1/jobs?user=ann", with a query) has
// changed, and at the latest after 10 s, as how long a job has run is no change; with
// --watch=SECONDS at that interval. A server that answers at once (of an older version, or one
// that ends) is asked every 2 s. Until interrupted, or q is typed.
Result<int> redraw(const Invocation& invocation, Api& api, const std::string& list,
                   const std::function<Result<int>()>& render);

// How a list was read that was asked to be held.
struct Answered {
  bool ok = false;
  std::chrono::milliseconds took{0};
};
// From the end of a drawing to the next one, at least; `drawing`: how long that took. Pure.
std::chrono::milliseconds pause_of(const Answered& answered, std::chrono::milliseconds drawing);

}  // namespace dove::cli
