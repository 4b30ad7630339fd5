#include "agent/session/boot_id.h"

#include <cstdlib>
#include <fstream>

namespace dove::agent {

Result<std::string> boot_id() {
  if (const char* given = std::getenv("DOVE_BOOT_ID"); given != nullptr && *given != '\0') {
    return std::string(given);
  }
  constexpr const char kPath[] = "/proc/sys/kernel/random/boot_id";
  std::ifstream file(kPath);
  std::string id;
  if (!(file >> id)) {
    return Error{ErrorKind::kInternal, "no_boot_id",
                 std::string("cannot read ") + kPath +
                     ": mount /proc, or set DOVE_BOOT_ID to a name that changes at every boot",
                 kPath};
  }
  return id;
}

}  // namespace dove::agent
