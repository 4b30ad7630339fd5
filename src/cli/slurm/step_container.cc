#include "cli/slurm/step_container.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/submission.h"
#include "cli/terminal/output.h"
#include "jobfiles/container_image.h"

namespace dove::cli {
namespace {

using nlohmann::json;

Result<json> volumes_of(const Invocation& invocation) {
  json volumes = json::array();
  const auto add = [&](const Volume& volume) {
    volumes.push_back(json{{"source", volume.source},
                           {"target", volume.target.empty() ? volume.source : volume.target},
                           {"writable", volume.writable}});
  };
  for (const std::string& item : comma_list(invocation.get("container-mounts"))) {
    Result<Volume> volume = jobfiles::parse_volume(item);
    if (!volume.ok()) {
      return usage_error(fmt::format("--container-mounts: {}", volume.error().message));
    }
    add(*volume);
  }
  if (invocation.has("container-mount-home") && !invocation.has("no-container-mount-home")) {
    const std::string home = environment_value("HOME");
    if (!home.starts_with('/')) return usage_error("--container-mount-home: HOME is not set");
    add(Volume{home, home, true});
  }
  return volumes;
}

}  // namespace

Result<json> step_container(const Invocation& invocation) {
  if (!invocation.has("container-image")) {
    for (const auto& [name, values] : invocation.values) {
      if (!name.starts_with("container-") && !name.starts_with("no-container-")) continue;
      return usage_error(fmt::format("--{} needs --container-image in the same step", name));
    }
    return json();
  }
  Result<std::string> image = jobfiles::container_image(invocation.get("container-image"));
  if (!image.ok()) {
    return usage_error(fmt::format("--container-image: {}", image.error().message));
  }
  json container = {{"image", *image}};
  TRY_ASSIGN(json volumes, volumes_of(invocation));
  if (!volumes.empty()) container["volumes"] = std::move(volumes);
  if (invocation.has("container-readonly")) {
    if (invocation.has("container-writable")) {
      return usage_error("--container-readonly and --container-writable exclude each other");
    }
    container["read_only"] = true;
  }
  const std::string workdir = invocation.get("container-workdir");
  if (!workdir.empty()) {
    if (!workdir.starts_with('/')) {
      return usage_error("--container-workdir: write an absolute path inside the container");
    }
    container["workdir"] = workdir;
  }
  return container;
}

}  // namespace dove::cli
