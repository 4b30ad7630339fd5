// Page: part of a list that is read piece by piece: at most `limit` entries after the cursor
// `after`.
//
// Entries are offered in ascending order of their cursors, so that a page continues where the one
// before it ended, even if that entry is gone by then. Include only from .cc files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/ids.h"

namespace dove::server {

constexpr std::int64_t kPageUsual = 1000;
constexpr std::int64_t kPageMost = 10'000;

template <class Cursor>
class Page {
 public:
  Page(Cursor after, std::int64_t limit) : after_(std::move(after)), limit_(limit) {}

  // Takes make() if the entry belongs to the page; false: the page is over and has a next one.
  template <class Make>
  bool offer(Cursor cursor, Make make) {
    if (!(after_ < cursor)) return true;
    has_next_ = static_cast<std::int64_t>(items_.size()) >= limit_;
    if (has_next_) return false;
    items_.push_back(make());
    last_ = std::move(cursor);
    return true;
  }

  // {member: [...], "next": where the next page begins or null, "log_head"}.
  nlohmann::json answer(const char* member, Seq head) const {
    return nlohmann::json{{member, items_},
                          {"next", has_next_ ? nlohmann::json(last_) : nlohmann::json(nullptr)},
                          {"log_head", head.value}};
  }

 private:
  Cursor after_;
  std::int64_t limit_;
  nlohmann::json items_ = nlohmann::json::array();
  Cursor last_ = {};
  bool has_next_ = false;
};

}  // namespace dove::server
