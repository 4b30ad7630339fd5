// ListText: a page of a list as JSON text that grows entry by entry: page.h, for lists that are
// built in pieces (pieces.h). Include only from .cc files.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/ids.h"
#include "wire/http.h"

namespace dove::server {

class ListText {
 public:
  // At most `limit` entries of `member`, of the state as of `head` or later.
  ListText(const std::string& member, Seq head, std::int64_t limit)
      : head_(head), limit_(limit), text_("{\"" + member + "\":[") {}

  bool is_full() const { return entries_ >= limit_; }
  std::int64_t entries() const { return entries_; }
  // REQUIRES: not full. The next page begins behind `cursor`.
  void add(std::uint64_t cursor, const nlohmann::json& entry);
  // An entry that this page leaves out; a next page begins behind it.
  void passed(std::uint64_t cursor) { last_ = cursor; }
  // There is an entry that this page has no room for.
  void has_next() { has_next_ = true; }
  // {member: [...], "next": where the next page begins or null, "log_head", and what `more` has}.
  // Once: the text goes with it, as a copy of a long one would be the longest piece of all.
  wire::Response answer(nlohmann::json more);

 private:
  Seq head_;
  std::int64_t limit_;
  std::int64_t entries_ = 0;
  std::uint64_t last_ = 0;
  bool has_next_ = false;
  std::string text_;
};

}  // namespace dove::server
