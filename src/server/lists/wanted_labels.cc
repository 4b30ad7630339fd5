#include "server/lists/wanted_labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::server {

Result<WantedLabels> read_wanted_labels(const Call& call) {
  WantedLabels wanted;
  for (const auto& [name, text] : call.request.query) {
    if (name != "labels") continue;
    const std::size_t joint = text.find('=');
    if (joint == 0 || joint == std::string::npos || wanted.size() == kLabelsMax) {
      return invalid("bad_parameter",
                     fmt::format("labels is NAME=VALUE, one of the `labels` that a job or an "
                                 "object has; for several give it again, {} times at most",
                                 kLabelsMax),
                     "labels");
    }
    wanted.emplace_back(text.substr(0, joint), text.substr(joint + 1));
  }
  return wanted;
}

bool has_labels(const Labels& own, const WantedLabels& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = own.find(label.first);
    return found != own.end() && found->second == label.second;
  });
}

}  // namespace dove::server
