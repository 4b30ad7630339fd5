// Quotas as Kubernetes and Kueue declare them, turned into declared objects: a ResourceQuota
// becomes a project with limits, a ClusterQueue or a Cohort a queue with a guarantee.
//
// Pure; any thread. Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::cli {

// Whether the document is one of Kubernetes' (it has an apiVersion).
bool is_kubernetes_object(const nlohmann::json& document);

// The declared object that stands for it. Fields without an effect are named in `warnings`; a kind
// that has no counterpart, or an amount that cannot be read, is an error with its place. Both
// shapes of a ClusterQueue are read: resources in resourceGroups and flavors, and directly.
Result<nlohmann::json> from_kubernetes(const nlohmann::json& document,
                                       std::vector<std::string>& warnings);

}  // namespace dove::cli
