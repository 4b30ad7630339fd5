#include "cli/client/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.h"
#include "cli/terminal/times.h"
#include "codec/quantity.h"
#include "telemetry/clock.h"

namespace dove::cli {

using nlohmann::json;

Result<json> get_all(Api& api, const std::string& target, const std::string& member) {
  const std::string after = target.find('?') == std::string::npos ? "?after=" : "&after=";
  TRY_ASSIGN(json all, api.get(target));
  json next = all.is_object() ? all.value("next", json()) : json();
  while (!next.is_null()) {
    const std::string cursor = next.is_string() ? next.get<std::string>() : next.dump();
    TRY_ASSIGN(json page, api.get(target + after + wire::percent_encode(cursor)));
    json& list = all[member];
    for (json& item : page[member]) list.push_back(std::move(item));
    // A server that gives the same cursor again would be asked for ever.
    json following = page.value("next", json());
    if (following == next) break;
    next = std::move(following);
  }
  if (all.is_object()) all.erase("next");
  return all;
}

std::string labels_query(const std::vector<std::string>& labels) {
  std::string query;
  for (const std::string& label : labels) {
    query += "&labels=" + wire::percent_encode(label);
  }
  return query;
}

Result<std::optional<std::int64_t>> instant_us(const Invocation& invocation, const char* option) {
  const std::string given = invocation.get(option);
  if (!invocation.has(option)) return std::optional<std::int64_t>();
  if (const auto ago_us = parse_span_us(given)) {
    return std::optional(std::max<std::int64_t>(telemetry::now_us() - *ago_us, 0));
  }
  const Result<Instant> at = codec::parse_instant(given);
  if (at.ok() && at->us >= 0) return std::optional(at->us);
  return Error{ErrorKind::kInvalid, "bad_option",
               fmt::format("--{}={} is neither a time ago, such as 12h, nor an instant, such as "
                           "2026-01-02T03:04:05Z",
                           option, given),
               ""};
}

Result<std::int64_t> count_option(const Invocation& invocation, const char* option,
                                  std::int64_t otherwise, std::int64_t least) {
  if (!invocation.has(option)) return otherwise;
  const std::string given = invocation.get(option);
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc() || at != given.data() + given.size() || value < least) {
    return usage_error(
        fmt::format("--{} takes a number from {} on, not '{}'", option, least, given));
  }
  return value;
}

}  // namespace dove::cli
