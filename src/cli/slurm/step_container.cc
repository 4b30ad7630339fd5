#include "cli/slurm/step_container.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/submission.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "jobfiles/container_options.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kOpposites[][2] = {
    {"container-readonly", "container-writable"},
    {"container-entrypoint", "no-container-entrypoint"},
    {"container-mount-home", "no-container-mount-home"},
    {"container-remap-root", "no-container-remap-root"},
};

}  // namespace

Result<json> step_container(const Invocation& invocation) {
  for (const auto& [one, other] : kOpposites) {
    if (invocation.has(std::string(one)) && invocation.has(std::string(other))) {
      return usage_error(fmt::format("--{} and --{} exclude each other", one, other));
    }
  }
  const jobfiles::ContainerPlace place{environment_value("HOME"), local_context().workdir};
  ExecSpec exec;
  ContainerSpec& container = exec.container;
  std::string_view first;
  for (const std::string_view name : jobfiles::container_options()) {
    if (!invocation.has(std::string(name))) continue;
    if (first.empty()) first = name;
    const Result<void> set =
        jobfiles::set_container(name, invocation.get(std::string(name)), place, container);
    if (!set.ok()) return usage_error(fmt::format("--{}: {}", name, set.error().message));
  }
  if (first.empty()) return json();
  if (container.image.empty() && container.name.empty()) {
    return usage_error(
        fmt::format("--{} needs --container-image, or the --container-name of an earlier step, in "
                    "the same step",
                    first));
  }
  return json::parse(codec::encode_exec(exec)).at("container");
}

}  // namespace dove::cli
