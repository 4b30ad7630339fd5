#include "server/lists/page_wanted.h"

#include <utility>

#include "server/handlers.h"

namespace dove::server {

bool PageWanted::has(const std::string& name) const {
  return names.empty() || names.contains(name);
}

bool PageWanted::has(const std::string& name, const Labels& own) const {
  return has(name) && has_labels(own, labels);
}

Result<PageWanted> read_page_wanted(const Call& call) {
  PageWanted page;
  page.after = call.query_text("after");
  TRY_ASSIGN(page.limit, call.query_number("limit", kPageUsual, 1, kPageMost));
  for (std::string& name : split_list(call.query_text("name"))) page.names.insert(std::move(name));
  TRY_ASSIGN(page.labels, read_wanted_labels(call));
  return page;
}

}  // namespace dove::server
