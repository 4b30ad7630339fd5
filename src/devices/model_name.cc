#include "devices/model_name.h"

#include <algorithm>

namespace dove::devices {

std::string short_model(std::string_view name) {
  for (const std::string_view word :
       {"NVIDIA ", "AMD ", "Tesla ", "GeForce ", "Quadro ", "Instinct ", "Radeon "}) {
    if (name.starts_with(word)) name.remove_prefix(word.size());
  }
  std::string prefix;
  for (const std::string_view word : {"RTX ", "GTX ", "PRO "}) {
    if (!name.starts_with(word)) continue;
    prefix += word.substr(0, word.size() - 1);
    name.remove_prefix(word.size());
  }
  return prefix + std::string(name.substr(0, std::min(name.find_first_of(" -/"), name.size())));
}

}  // namespace dove::devices
