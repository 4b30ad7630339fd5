// Any bytes as a CDI specification: never a crash, and what is taken has absolute paths alone.
//
// seeds: tests/seeds/cdi
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "containers/cdi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto spec = dove::containers::parse_cdi_spec(text, "file");
  if (!spec.ok()) return 0;
  for (const auto& [name, edits] : spec->devices) {
    for (const std::string& path : edits.devices) CHECK(path.starts_with('/'), "absolute");
    for (const auto& mount : edits.mounts) CHECK(mount.target.starts_with('/'), "absolute");
  }
  return 0;
}
