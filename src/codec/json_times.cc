// Instants and spans in the API's objects.
#include "codec/json_parts.h"
#include "codec/quantity.h"

namespace dove::codec {

void put_instant(Json& object, std::string_view name, Instant at, bool zero_counts) {
  const bool known = at != kNever && (zero_counts || at.us != 0);
  object[std::string(name)] = known ? Json(rfc3339(at)) : Json(nullptr);
  object[std::string(name) + "_us"] = known ? Json(at.us) : Json(nullptr);
}

void put_span(Json& object, std::string_view name, Span span) {
  const bool whole = span.us % 1'000'000 == 0;
  object[std::string(name) + (whole ? "_s" : "_us")] = whole ? span.us / 1'000'000 : span.us;
}

}  // namespace dove::codec
