// ContainerSpec as JSON, as it stands in ExecSpec and in steps.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/exec.h"

namespace dove::codec {

// An empty object says what a step's says that names no image: nothing.
nlohmann::json container_json(const ContainerSpec& container);
Result<ContainerSpec> read_container(const nlohmann::json& value);

}  // namespace dove::codec
