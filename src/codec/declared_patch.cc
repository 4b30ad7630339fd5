#include "codec/declared_patch.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "codec/json.h"

namespace dove::codec {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kUnits = {"_s", "_us", "_bytes", "_milli"};
constexpr std::string_view kKubernetesSlice = "nvidia.com/mig-";

// The field without its unit: what all of its aliases have in common.
std::string stem_of(std::string_view name) {
  if (name == "gpus_milli_by_model") return "gpus_by_model";
  for (const std::string_view unit : kUnits) {
    if (name.ends_with(unit)) return std::string(name.substr(0, name.size() - unit.size()));
  }
  return std::string(name);
}

bool has_own_fields(std::string_view name) {
  return name == "limits" || name == "guaranteed" || name == "multifactor";
}

// Slices can be named among the countables as Kubernetes names them.
bool names_slices(const Json& countables) {
  if (!countables.is_object()) return false;
  for (const auto& [name, amount] : countables.items()) {
    if (name.starts_with(kKubernetesSlice)) return true;
  }
  return false;
}

void drop_aliases(Json& object, std::string_view name) {
  std::vector<std::string> dropped;
  const std::string stem = stem_of(name);
  for (const auto& [own, value] : object.items()) {
    if (stem_of(own) == stem) dropped.push_back(own);
  }
  for (const std::string& own : dropped) object.erase(own);
}

Json merged(const Json& before, const Json& patch) {
  Json out = before;
  for (const auto& [name, value] : patch.items()) {
    drop_aliases(out, name);
    if (name == "scheduling") {  // of a cluster: it says these two
      out.erase("order");
      out.erase("placement");
    }
    if (name == "countables" && names_slices(value)) out.erase("slices");
  }
  for (const auto& [name, value] : patch.items()) {
    const auto own = before.find(name);
    const bool deeper = has_own_fields(name) && value.is_object() && own != before.end();
    out[name] = deeper ? merged(*own, value) : value;
  }
  return out;
}

}  // namespace

Json patched(const Declared& before, const Json& patch) {
  return merged(declared_json(before), patch);
}

std::string version_of(const Declared& object) {
  Digest digest;
  digest.add(dump_json(declared_json(object)));
  return fmt::format("{:016x}", digest.value());
}

}  // namespace dove::codec
