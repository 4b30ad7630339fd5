#include "programs/scheduling.h"

#include <fmt/format.h>

#include "model/new_cluster.h"

namespace dove::programs {

std::vector<cli::OptionSpec> scheduling_specs() {
  return {{"scheduling", 0, "NAME",
           "learned, or plain: FIFO and best fit (as declared; a new cluster: learned)", false}};
}

Result<std::optional<std::string>> scheduling_option(const Settings& given) {
  if (!given.has("scheduling")) return std::optional<std::string>();
  const std::string name = given.text("scheduling", "");
  if (!with_scheduling({}, name)) {
    return Error{ErrorKind::kInvalid, "unknown_scheduling",
                 fmt::format("scheduling: there is no '{}'; known are {}", name, kSchedulings),
                 "scheduling"};
  }
  return std::optional<std::string>(name);
}

}  // namespace dove::programs
