#include "programs/log_level.h"

#include <fmt/format.h>

#include <map>

#include "telemetry/log.h"

namespace dove::programs {

std::vector<cli::OptionSpec> log_level_specs() {
  return {{"log-level", 0, "LEVEL",
           "least that is logged: debug, info, warning or error (info; dove up on a terminal: "
           "warning)",
           false}};
}

Result<void> set_log_level(const Settings& given, const std::string& otherwise) {
  using telemetry::Level;
  const std::map<std::string, Level> levels{{"debug", Level::kDebug},
                                            {"info", Level::kInfo},
                                            {"warning", Level::kWarning},
                                            {"error", Level::kError}};
  const std::string word = given.text("log-level", otherwise);
  const auto found = levels.find(word);
  if (found == levels.end()) {
    return Error{ErrorKind::kInvalid, "bad_setting",
                 fmt::format("--log-level is debug, info, warning or error, not '{}'", word),
                 "--log-level"};
  }
  telemetry::set_level(found->second);
  return {};
}

}  // namespace dove::programs
