#include "files/kept_time.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "files/text_file.h"

namespace dove::files {
namespace {

constexpr const char kAccepted[] = "accepted";

}  // namespace

std::string KeptTime::this_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

KeptTime::Kept KeptTime::read(std::int64_t steady_us) const {
  std::istringstream words(text_or_empty(path_, 256));
  std::string boot;
  std::int64_t at_us = 0;
  std::int64_t then_us = 0;
  if (!(words >> boot >> at_us >> then_us) || boot != boot_ || boot.empty()) return {};
  if (then_us > steady_us) return {};
  std::string word;
  Kept kept;
  words >> word >> kept.doubted_us;  // a former version wrote neither, or the first alone
  kept.at_us = at_us + (steady_us - then_us);
  kept.accepted = word == kAccepted;
  return kept;
}

std::int64_t KeptTime::before_boot_us() const {
  std::istringstream words(text_or_empty(path_, 256));
  std::string boot;
  std::int64_t at_us = 0;
  if (!(words >> boot >> at_us) || boot == boot_ || boot_.empty()) return 0;
  return at_us;
}

void KeptTime::keep(std::int64_t now_us, std::int64_t steady_us, bool accepted,
                    std::int64_t doubted_us) const {
  // Without it the next start takes over the machine's clock, as the first one did.
  (void)write_atomically(path_,
                         fmt::format("{} {} {} {} {}\n", boot_, now_us, steady_us,
                                     accepted ? kAccepted : "kept", doubted_us),
                         0600);
}

}  // namespace dove::files
