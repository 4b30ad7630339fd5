// The API's objects as JSON: what /v1, the CLI and declared files share.
//
// Include this only from .cc files: it brings nlohmann/json_fwd. Readers are strict: an unknown
// field is an error that names it and suggests the nearest known one; amounts that are negative or
// overflow, wrong types and text that is not UTF-8 are errors with the JSON path in Error::field.
// Amounts accept Kubernetes quantities ("1280Gi", "500m" cores), times accept "2h", "D-HH:MM:SS"
// and seconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/state.h"
#include "model/event.h"
#include "model/exec.h"
#include "model/job.h"
#include "model/reason.h"

namespace dove::codec {

// Parses with limits: at most `bytes_max` bytes, 64 levels, valid UTF-8.
Result<nlohmann::json> parse_json(std::string_view text, std::size_t bytes_max);
// Never throws: invalid UTF-8 is replaced.
std::string dump_json(const nlohmann::json& value);

// A submission as POSTed to /v1/jobs: the fields of JobSpec and ExecSpec in one flat object.
struct Submission {
  JobSpec spec;  // exec_digest is left empty; user is the caller's business
  ExecSpec exec;
};
Result<Submission> read_submission(const nlohmann::json& body);
nlohmann::json write_submission(const Submission& submission);

// The ExecSpec blob: canonical JSON, keys sorted.
std::string encode_exec(const ExecSpec& exec);
Result<ExecSpec> decode_exec(std::string_view blob);

nlohmann::json job_json(const core::State& state, const core::Job& job);     // GET /v1/jobs/{id}
nlohmann::json node_json(const core::State& state, const core::Node& node);  // GET /v1/nodes/{name}
nlohmann::json reason_json(const core::State& state,
                           const Reason& reason);  // has a "text" for people
nlohmann::json event_json(const Event& event);
nlohmann::json decision_json(const Decision& decision);
nlohmann::json placement_json(const Placement& placement);
Result<Placement> read_placement(const nlohmann::json& value);
nlohmann::json inventory_json(const Inventory& inventory);
Result<Inventory> read_inventory(const nlohmann::json& value);
nlohmann::json task_exit_json(const TaskExit& exit);
Result<TaskExit> read_task_exit(const nlohmann::json& value);

// {"kind": "Pool", "name": "...", ...}
nlohmann::json declared_json(const Declared& object);
Result<Declared> read_declared(const nlohmann::json& value);

}  // namespace dove::codec
