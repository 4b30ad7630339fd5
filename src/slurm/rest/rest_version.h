// RestVersion: the versions of slurmrestd's API that we speak, and how they differ.
//
// Pure. Here is how changes are written; how answers differ is in json_values.h and slurm_json.cc.
// Tested with v0.0.38 and v0.0.42; the others are as Slurm's source has them (docs/decisions/0026).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::slurm {

struct RestVersion {
  const char* name;     // "v0.0.38", as in its paths
  const char* load;     // the words by which slurmrestd loads it
  bool writes_objects;  // numbers in changes are {"set": …}; else they are words, as are the rest

  // Values of a change.
  nlohmann::json number(std::int64_t value) const;
  nlohmann::json no_limit() const;
  nlohmann::json no() const;  // false
};

// The newest that both know. `specification`: what slurmrestd answers to GET /openapi/v3, whose
// paths begin with the versions that it has loaded. Where it has none of ours, the error names
// those that it has and those that it may load.
Result<const RestVersion*> newest_version(std::string_view specification);

}  // namespace dove::slurm
