#include "agent/devices/own_lines.h"

#include <utility>

#include "files/kept_lines.h"
#include "telemetry/log.h"

namespace dove::agent {

std::vector<std::string> read_own_lines(const std::string& path, std::size_t bytes_max) {
  files::KeptLines lines = files::read_kept_lines(path, bytes_max);
  if (lines.damaged > 0) {
    telemetry::log(telemetry::Level::kWarning, "kept_lines_damaged",
                   {{"file", path}, {"lines", lines.damaged}});
  }
  return std::move(lines.whole);
}

}  // namespace dove::agent
