#include "server/boot/boot_script.h"

#include <fmt/format.h>

namespace dove::server {

std::string boot_script(const BootConfig& config, const std::string& node,
                        const std::string& authority) {
  std::string arguments = config.arguments;
  const auto add = [&arguments](const char* name, const std::string& value) {
    if (value.empty()) return;
    arguments += fmt::format("{}dove.{}={}", arguments.empty() ? "" : " ", name, value);
  };
  // Without this an EFI kernel that was started by iPXE does not find its initrd.
  if (!config.initrd.empty())
    arguments = "initrd=initrd" + (arguments.empty() ? "" : " " + arguments);
  add("node", node);
  add("url", config.controller);
  add("authority", authority);
  add("image", config.image);
  add("image_sha256", config.image_sha256);
  std::string script = fmt::format("#!ipxe\nkernel {} {}\n", config.kernel, arguments);
  if (!config.initrd.empty()) script += fmt::format("initrd --name initrd {}\n", config.initrd);
  return script + "boot\n";
}

}  // namespace dove::server
