// The agent's settings for containers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/containers/container_runner.h"
#include "base/result.h"
#include "cli/command.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> container_option_specs();

// As --default-network says.
Result<agent::NetworkRule> network_rule(const Settings& given);

// None: containers are off, or the agent is not root. Looks up the controller's name.
Result<std::optional<agent::ContainerRunnerOptions>> container_settings(
    const Settings& given, const agent::AgentOptions& options, const std::string& contain_path);

// Has the agent tell which networks containers may have here. `runner` outlives the agent.
void tell_of_networks(const agent::ContainerRunner& runner, agent::AgentOptions& options);

}  // namespace dove::programs
