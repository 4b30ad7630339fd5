#include "jobfiles/container_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jobfiles/container_image.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

constexpr std::size_t kNameMax = 64;

bool same(const Volume& a, const Volume& b) {
  return a.source == b.source && a.target == b.target && a.writable == b.writable;
}

std::string absolute(std::string path, const std::string& workdir) {
  if (path.starts_with('/')) return path;
  while (path.starts_with("./")) path.erase(0, 2);
  return workdir + "/" + path;
}

Result<void> set_image(const std::string& value, const ContainerPlace& place, ContainerSpec& spec) {
  TRY_ASSIGN(spec.image, container_image(value));
  if (spec.image.starts_with("./")) spec.image = absolute(spec.image, place.workdir);
  return {};
}

Result<void> set_mounts(const std::string& value, const ContainerPlace& place,
                        ContainerSpec& spec) {
  const Volume home{place.home, place.home, true};
  std::erase_if(spec.volumes, [&](const Volume& volume) { return !same(volume, home); });
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t end = std::min(value.find(',', from), value.size());
    std::string text = value.substr(from, end - from);
    if (text.starts_with("./")) text = absolute(text, place.workdir);
    TRY_ASSIGN(Volume volume, parse_volume(text));
    spec.volumes.push_back(std::move(volume));
    from = end + 1;
  }
  return {};
}

Result<void> mount_home(const ContainerPlace& place, bool mounts, ContainerSpec& spec) {
  const Volume home{place.home, place.home, true};
  std::erase_if(spec.volumes, [&](const Volume& volume) { return same(volume, home); });
  if (!mounts) return {};
  if (!place.home.starts_with('/')) return invalid("HOME is not set");
  spec.volumes.push_back(home);
  return {};
}

Result<void> set_workdir(const std::string& value, ContainerSpec& spec) {
  if (!value.starts_with('/')) return invalid("write an absolute path inside the container");
  spec.workdir = value;
  return {};
}

// "NAME[:create|exec|no_exec]".
Result<void> set_name(const std::string& value, ContainerSpec& spec) {
  static const std::map<std::string, ContainerNaming, std::less<>> kNamings = {
      {"", ContainerNaming::kAny},
      {"no_exec", ContainerNaming::kAny},
      {"create", ContainerNaming::kCreate},
      {"exec", ContainerNaming::kExec}};
  const std::size_t colon = std::min(value.find(':'), value.size());
  const auto naming = kNamings.find(value.substr(std::min(colon + 1, value.size())));
  const std::string name = value.substr(0, colon);
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (naming == kNamings.end() || !plain || name.empty() || name.size() > kNameMax) {
    return invalid(
        fmt::format("\"{}\": write NAME, NAME:create (it must be new) or NAME:exec (it must be "
                    "there), of up to 64 letters, digits and . _ -",
                    shown(value)));
  }
  spec.name = name;
  spec.naming = naming->second;
  return {};
}

}  // namespace

const std::vector<std::string_view>& container_options() {
  static const std::vector<std::string_view> kNames = {
      "container-image",      "container-mounts",        "container-mount-home",
      "container-workdir",    "container-name",          "container-save",
      "container-readonly",   "container-writable",      "container-remap-root",
      "container-entrypoint", "no-container-mount-home", "no-container-remap-root",
      "container-env",        "no-container-entrypoint"};
  return kNames;
}

Result<void> set_container(std::string_view name, const std::string& value,
                           const ContainerPlace& place, ContainerSpec& container) {
  if (name == "container-image") return set_image(value, place, container);
  if (name == "container-mounts") return set_mounts(value, place, container);
  if (name == "container-workdir") return set_workdir(value, container);
  if (name == "container-name") return set_name(value, container);
  if (name == "container-save") container.save = absolute(value, place.workdir);
  if (name == "container-readonly") container.read_only = true;
  if (name == "container-writable") container.read_only = false;
  const bool given = !name.starts_with("no-");
  if (name.ends_with("container-mount-home")) return mount_home(place, given, container);
  if (name.ends_with("container-remap-root")) container.root = given;
  if (name.ends_with("container-entrypoint")) container.entrypoint = given;
  return {};  // container-env: see kContainerEnv
}

}  // namespace dove::jobfiles
