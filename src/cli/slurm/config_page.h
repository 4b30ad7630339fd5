// The output of `scontrol show config`: the settings that programs query from Slurm, from the
// cluster's.
//
// Pure except for the local time zone. Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dove::cli {

// `cluster`: of GET /v1/cluster; `settings`: the objects of kind Cluster; `url`: the server's.
std::string config_page(const nlohmann::json& cluster, const nlohmann::json& settings,
                        const std::string& url, std::int64_t now_us);

}  // namespace dove::cli
