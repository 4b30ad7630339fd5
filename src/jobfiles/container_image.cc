#include "jobfiles/container_image.h"

#include <fmt/format.h>

#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

constexpr std::size_t kImageMax = 1024;
constexpr std::string_view kDocker = "docker://";

}  // namespace

Result<std::string> container_image(const std::string& given) {
  if (given.empty() || given.size() > kImageMax) return invalid("give the name of an image");
  // As pyxis has it, a path is a squash file.
  if (given.starts_with('/') || given.starts_with("./")) return given;
  for (const char* other : {"dockerd://", "podman://"}) {
    if (given.starts_with(other)) {
      return invalid(
          fmt::format("{} names images of one machine; write docker://REGISTRY/NAME:TAG", other));
    }
  }
  const std::size_t hash = given.find('#');
  if (hash == std::string::npos) return given;
  // enroot: [USER@]REGISTRY#NAME[:TAG]
  std::string registry = given.substr(0, hash);
  if (registry.starts_with(kDocker)) registry.erase(0, kDocker.size());
  if (registry.empty() || registry.find('@') != std::string::npos || hash + 1 == given.size()) {
    return invalid(fmt::format("\"{}\": write REGISTRY#NAME:TAG, without a user", shown(given)));
  }
  return fmt::format("{}{}/{}", kDocker, registry, given.substr(hash + 1));
}

Result<Volume> parse_volume(const std::string& text) {
  Volume volume;
  volume.writable = true;
  std::string rest = text;
  for (const char* mode : {":ro", ":rw"}) {
    if (!rest.ends_with(mode)) continue;
    volume.writable = mode[2] == 'w';
    rest.resize(rest.size() - 3);
    break;
  }
  const std::size_t colon = rest.find(':');
  volume.source = rest.substr(0, colon);
  if (colon != std::string::npos) volume.target = rest.substr(colon + 1);
  if (!volume.source.starts_with('/') || (colon != std::string::npos && volume.target[0] != '/')) {
    return invalid(
        fmt::format("\"{}\": write /SOURCE, /SOURCE:/TARGET or /SOURCE:/TARGET:ro", shown(text)));
  }
  return volume;
}

}  // namespace dove::jobfiles
