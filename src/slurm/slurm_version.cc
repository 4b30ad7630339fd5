#include "slurm/slurm_version.h"

#include <fmt/format.h>

#include <charconv>

namespace dove::slurm {
namespace {

constexpr SlurmVersion kFeb23{23, 2};

}  // namespace

std::vector<std::string> SlurmVersion::nodes_command() const {
  if (*this < kFeb23) return {"sinfo", "--json"};
  return {"scontrol", "show", "nodes", "--json"};
}

bool SlurmVersion::allocates_for_users() const { return *this < kFeb23; }

Result<SlurmVersion> read_version(std::string_view said) {
  const std::string_view line = said.substr(0, said.find('\n'));
  const std::string_view words = line.substr(line.rfind(' ') + 1);  // rfind may find none
  SlurmVersion version;
  const char* const end = words.data() + words.size();
  const auto year = std::from_chars(words.data(), end, version.year);
  if (year.ec == std::errc() && year.ptr != end && *year.ptr == '.' &&
      std::from_chars(year.ptr + 1, end, version.month).ec == std::errc()) {
    return version;
  }
  return Error{ErrorKind::kInvalid, "slurm_version",
               fmt::format("the version of Slurm's commands is not understood: '{}'", line), ""};
}

}  // namespace dove::slurm
