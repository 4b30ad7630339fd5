#include "yaml/writer.h"

#include <yaml-cpp/emitter.h>

namespace dove::yaml {

std::string lines_of(const std::vector<std::pair<std::string, std::string>>& fields) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const auto& [name, text] : fields) out << YAML::Key << name << YAML::Value << text;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace dove::yaml
