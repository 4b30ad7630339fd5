// The agent's settings for containers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/containers/container_runner.h"
#include "base/result.h"
#include "cli/command.h"
#include "containers/image_watch.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> container_option_specs();

// As --default-network says.
Result<agent::NetworkRule> network_rule(const Settings& given);

// None: containers are off, or the agent is not root. Looks up the controller's name.
Result<std::optional<agent::ContainerRunnerOptions>> container_settings(
    const Settings& given, const agent::AgentOptions& options, const std::string& contain_path);

// What the agent reports of its node: which networks containers may have, which images there are,
// what is limited. Reads the directory of images. `runner`, nullptr where no containers run, and
// `processes` outlive the agent.
void describe_node(const agent::ProcessRunner& processes, const agent::ContainerRunner* runner,
                   const std::optional<agent::ContainerRunnerOptions>& containers,
                   agent::AgentOptions& options);

// Has the agent report images that come and go; nullptr: no containers run here. `loop` and
// `agent` outlive it.
std::unique_ptr<containers::ImageWatch> watch_images(
    wire::Loop& loop, agent::Agent& agent,
    const std::optional<agent::ContainerRunnerOptions>& containers,
    std::chrono::milliseconds interval);

}  // namespace dove::programs
