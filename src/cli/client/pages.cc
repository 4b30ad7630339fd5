#include "cli/client/pages.h"

#include <nlohmann/json.hpp>

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

}  // namespace dove::cli
