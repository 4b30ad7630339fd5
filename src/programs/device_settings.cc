#include "programs/device_settings.h"

#include <filesystem>

#include "telemetry/log.h"

namespace dove::programs {

std::vector<cli::OptionSpec> device_option_specs() {
  return {
      {"mps", 0, "DIR",
       "enforce shares by NVIDIA's MPS, whose control daemon has its pipes there (no)", false},
      {"device-plugins", 0, "DIR",
       "serve Kubernetes' device plug-ins there, as the kubelet does in "
       "/var/lib/kubelet/device-plugins (no)",
       false},
      {"plugin-gpus", 0, "LIST",
       "plug-ins' resources that are devices, with model and memory: google.com/tpu=TPUv5:16Gi,... "
       "(*/gpu)",
       false},
  };
}

agent::ShareOptions share_settings(const Settings& given, const std::string& library_path) {
  agent::ShareOptions shares;
  std::error_code error;
  if (std::filesystem::exists(library_path, error)) {
    shares.library = library_path;
  } else {
    telemetry::log(telemetry::Level::kWarning, "shares_not_held", {{"missing", library_path}});
  }
  if (given.has("mps")) {
    shares.mps_directory = std::filesystem::absolute(given.text("mps", ""), error).string();
  }
  return shares;
}

}  // namespace dove::programs
