#include "slurm/rest/rest_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "codec/json.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

// A version takes about 1 MiB of it.
constexpr std::size_t kSpecificationMax = 32 << 20;
constexpr std::string_view kPath = "/slurm/";

// The newest first.
constexpr std::array<RestVersion, 6> kVersions{{
    {"v0.0.43", "-d v0.0.43", true},          // Slurm 25.05 to 26.05
    {"v0.0.42", "-d v0.0.42", true},          // 24.11 to 26.05
    {"v0.0.41", "-d v0.0.41", true},          // 24.05 to 25.11
    {"v0.0.40", "-d v0.0.40", true},          // 23.11 to 25.05
    {"v0.0.39", "-s openapi/v0.0.39", true},  // 23.02 to 24.05
    {"v0.0.38", "-s openapi/v0.0.38", false}  // 22.05 to 23.11
}};

// "v0.0.40" of "/slurm/v0.0.40/jobs/"; "": it is the path of something else.
std::string_view version_of(std::string_view path) {
  if (!path.starts_with(kPath)) return "";
  path.remove_prefix(kPath.size());
  return path.starts_with('v') ? path.substr(0, path.find('/')) : "";
}

Error cannot_speak(const std::set<std::string>& offered) {
  std::vector<std::string> ours;
  for (const RestVersion& one : kVersions) {
    ours.push_back(fmt::format("{} ({})", one.name, one.load));
  }
  return Error{ErrorKind::kUnavailable, "slurmrestd",
               fmt::format("slurmrestd offers {}, and dove speaks none of them: start slurmrestd "
                           "with one of {}, or leave out rest: and dove uses Slurm's commands",
                           offered.empty() ? "no version of its API"
                                           : fmt::format("{}", fmt::join(offered, ", ")),
                           fmt::join(ours, ", ")),
               ""};
}

}  // namespace

json RestVersion::number(std::int64_t value) const {
  if (!writes_objects) return std::to_string(value);
  return {{"set", true}, {"infinite", false}, {"number", value}};
}

json RestVersion::no_limit() const {
  if (!writes_objects) return "UNLIMITED";
  return {{"set", true}, {"infinite", true}, {"number", 0}};
}

json RestVersion::no() const { return writes_objects ? json(false) : json("false"); }

Result<const RestVersion*> newest_version(std::string_view specification) {
  TRY_ASSIGN(const json document, codec::parse_json(specification, kSpecificationMax));
  std::set<std::string> offered;
  const auto paths = document.is_object() ? document.find("paths") : document.end();
  if (document.is_object() && paths != document.end() && paths->is_object()) {
    for (const auto& [path, unused] : paths->items()) {
      if (const std::string_view name = version_of(path); !name.empty()) offered.emplace(name);
    }
  }
  const auto known = std::find_if(kVersions.begin(), kVersions.end(), [&](const RestVersion& one) {
    return offered.contains(one.name);
  });
  if (known == kVersions.end()) return cannot_speak(offered);
  return &*known;
}

}  // namespace dove::slurm
