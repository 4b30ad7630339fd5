#include "text/place.h"

#include <fmt/core.h>

namespace dove::text {

std::string to_text(const Place& place) {
  if (place.line == 0) return place.file;
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

Error at_place(Error error, const Place& place) {
  if (!error.field.empty()) return error;
  error.field = to_text(place);
  error.message = fmt::format("{}: {}", error.field, error.message);
  return error;
}

}  // namespace dove::text
