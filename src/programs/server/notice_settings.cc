#include "programs/server/notice_settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> notice_specs() {
  return {
      {"notices", 0, "FILE", "YAML file of mail and webhooks (docs/operate/notices.md)", false}};
}

Result<notices::Settings> notice_settings(const Settings& given) {
  const std::string path = given.text("notices", "");
  if (path.empty()) return notices::Settings{};
  return notices::read_settings(path);
}

}  // namespace dove::programs
