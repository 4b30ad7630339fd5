// JSON that a stranger wrote. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace dove::openid {

// What is no JSON, or is nested deeper than anything here should be, is discarded: copies of a
// value recurse.
inline nlohmann::json read_json(std::string_view text) {
  using Json = nlohmann::json;
  constexpr int kDepthMax = 32;
  bool is_deep = false;
  const auto look = [&](int depth, Json::parse_event_t, Json&) {
    is_deep = is_deep || depth > kDepthMax;
    return depth <= kDepthMax;
  };
  Json json = Json::parse(text, look, false);
  return is_deep ? Json(Json::value_t::discarded) : json;
}

}  // namespace dove::openid
