// The fixed part of an environment's shell text: bash that makes and enters what env_name,
// env_home, env_key, env_lists, env_python, env_requirements and env_conda describe.
//
// With DOVE_ENVIRONMENT_CHECK set it makes nothing: it ends with 0 where the environment can be had
// on this machine, else with 1 and says why. Only the first task of a node says why it failed.
#pragma once

#include <string_view>

namespace dove::jobfiles {

extern const std::string_view kEnvironmentShell;

}  // namespace dove::jobfiles
