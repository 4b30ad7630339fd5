#include "controller/refusals.h"

#include <fmt/format.h>

namespace dove::controller {

Error stopping_error() {
  return Error{ErrorKind::kUnavailable, "stopping",
               "the controller is stopping; try again once it has been started again", ""};
}

Error busy_error() {
  return Error{ErrorKind::kUnavailable, "busy",
               "the controller has more to do than it gets done; try again later", ""};
}

std::string megabytes(std::int64_t bytes) { return fmt::format("{} MB", bytes >> 20); }

Error disk_full_error(std::int64_t floor_bytes, std::int64_t free_bytes) {
  return Error{ErrorKind::kExhausted, "disk_full",
               fmt::format("the disk of the controller's data directory is full: it wants {} free, "
                           "and has {}; nothing was accepted, make room there and try again",
                           megabytes(floor_bytes), megabytes(free_bytes)),
               ""};
}

Error database_full_error() {
  return Error{ErrorKind::kExhausted, "disk_full",
               "the disk of the controllers' database is full; nothing was accepted, make room "
               "there and try again",
               ""};
}

Error refusal_of(const Error& error) {
  if (error.kind != ErrorKind::kConflict) return error;
  return Error{ErrorKind::kUnavailable, "not_leader",
               "another controller has taken over, and nothing of this was written: ask that one",
               ""};
}

}  // namespace dove::controller
