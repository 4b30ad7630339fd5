#include "server/lists/list_text.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "codec/json.h"

namespace dove::server {

using Json = nlohmann::json;

void ListText::add(std::uint64_t cursor, const Json& entry) {
  CHECK(!is_full(), "a page has no more entries than it may have");
  if (entries_ > 0) text_ += ',';
  text_ += codec::dump_json(entry);
  ++entries_;
  last_ = cursor;
}

wire::Response ListText::answer(Json more) {
  more["next"] = has_next_ ? Json(last_) : Json(nullptr);
  more["log_head"] = head_.value;
  text_ += "]," + codec::dump_json(more).substr(1) + "\n";
  return {200, {{"Content-Type", "application/json"}}, std::move(text_)};
}

}  // namespace dove::server
