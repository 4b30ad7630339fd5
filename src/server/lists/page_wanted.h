// PageWanted: which entries a list by name is asked for: its page, names and labels.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "server/lists/wanted_labels.h"
#include "server/page.h"

namespace dove::server {

struct PageWanted {
  std::string after;
  std::int64_t limit = kPageUsual;
  std::set<std::string> names;  // only these; empty: all
  WantedLabels labels = {};

  bool has(const std::string& name) const;
  bool has(const std::string& name, const Labels& own) const;
};

// Error: kInvalid bad_parameter.
Result<PageWanted> read_page_wanted(const Call& call);

}  // namespace dove::server
