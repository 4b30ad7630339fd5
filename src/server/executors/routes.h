// Routes: the executor that runs a job which names none, where settings distribute jobs among
// several (docs/operate/settings.md).
//
// In settings the field `executor` may be an object: {"slurm": 30} sends 30 of 100 jobs to Slurm,
// and {"slurm": {"percent": 100, "users": ["ada"], "pools": ["a100"]}} those of ada in that pool.
// Our agents run all others. Pure; any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace dove::server {

struct Route {
  std::string executor;
  int percent = 100;  // of the jobs that it is for
  // Each: an empty list leaves nobody out.
  std::vector<std::string> users;
  std::vector<std::string> projects;
  std::vector<std::string> queues;
  std::vector<std::string> pools;

  bool is_for_all() const;
  bool is_for(const JobSpec& spec) const;
};

// Errors: kInvalid bad_route at `executor`. REQUIRES: `given` is an object.
Result<std::vector<Route>> read_routes(const nlohmann::json& given);

// The executor for such a job; "": our agents. `turn` is another number for each job; shares are
// as they should be over many.
std::string route(const std::vector<Route>& routes, const JobSpec& spec, std::uint64_t turn);

}  // namespace dove::server
