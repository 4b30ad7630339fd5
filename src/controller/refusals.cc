#include "controller/refusals.h"

namespace dove::controller {

Error stopping_error() {
  return Error{ErrorKind::kUnavailable, "stopping",
               "the controller is stopping; try again once it has been started again", ""};
}

Error busy_error() {
  return Error{ErrorKind::kUnavailable, "busy",
               "the controller has more to do than it gets done; try again later", ""};
}

Error refusal_of(const Error& error) {
  if (error.kind != ErrorKind::kConflict) return error;
  return Error{ErrorKind::kUnavailable, "not_leader",
               "another controller has taken over, and nothing of this was written: ask that one",
               ""};
}

}  // namespace dove::controller
