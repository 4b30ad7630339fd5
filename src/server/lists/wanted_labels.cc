#include "server/lists/wanted_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace dove::server {

Result<WantedLabels> read_wanted_labels(const Call& call) {
  WantedLabels wanted;
  for (const auto& [name, text] : call.request.query) {
    if (name != "labels") continue;
    // A name is not empty, so what the text begins with is of the name.
    if (text.find('=', 1) == std::string::npos || wanted.size() == kLabelsMax) {
      return invalid("bad_parameter",
                     fmt::format("labels is NAME=VALUE, one of the `labels` that a job or an "
                                 "object has; for several give it again, {} times at most",
                                 kLabelsMax),
                     "labels");
    }
    wanted.push_back(text);
  }
  return wanted;
}

// Names may hold a "=", so the text is compared as a whole rather than cut at one.
bool has_labels(const Labels& own, const WantedLabels& wanted) {
  return std::ranges::all_of(wanted, [&](std::string_view text) {
    return std::ranges::any_of(own, [&](const auto& label) {
      const auto& [name, value] = label;
      return text.size() == name.size() + 1 + value.size() && text.starts_with(name) &&
             text[name.size()] == '=' && text.ends_with(value);
    });
  });
}

}  // namespace dove::server
