// The API's objects as JSON: what /v1, the CLI and declared files share.
//
// Include this only from .cc files: it brings nlohmann/json_fwd. Readers are strict: an unknown
// field is an error that names it and suggests the nearest known one; amounts that are negative or
// overflow, wrong types and text that is not UTF-8 are errors with the JSON path in Error::field.
// Amounts accept Kubernetes quantities ("1280Gi", "500m" cores), times accept "2h", "D-HH:MM:SS"
// and seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "model/exec.h"
#include "model/job.h"
#include "model/reason.h"

namespace dove::codec {

// Parses with limits: at most `bytes_max` bytes and `values_max` values (kTooLarge), 64 levels,
// valid UTF-8, no field twice in an object. Errors name line and column. A value costs up to half a
// microsecond, and many times its bytes: whoever reads what others send bounds both.
Result<nlohmann::json> parse_json(std::string_view text, std::size_t bytes_max,
                                  std::size_t values_max = SIZE_MAX);
// Never throws: invalid UTF-8 is replaced.
std::string dump_json(const nlohmann::json& value);

// A submission as POSTed to /v1/jobs: the fields of JobSpec and ExecSpec in one flat object, except
// `user` and `exec_digest`. A job of one group may give that group's fields, and its per_task
// request, at the top instead of in `groups`:
//   {"command": ["python3", "train.py"], "nodes": 2, "tasks": 4, "cores": 8, "gpus": 2,
//    "memory": "64Gi", "time_limit": "2h"}
// Left out: cores is 1, tasks is one per node asked for (or tasks_per_node on each). A script makes
// it a batch job, a command one that runs as each task. Limits are named in the errors.
struct Submission {
  JobSpec spec;  // exec_digest is left empty; user is the caller's business
  ExecSpec exec;
};
Result<Submission> read_submission(const nlohmann::json& body);
// read_submission() of it gives the same submission.
nlohmann::json write_submission(const Submission& submission);

// The ExecSpec blob: canonical JSON, keys sorted.
std::string encode_exec(const ExecSpec& exec);
Result<ExecSpec> decode_exec(const nlohmann::json& blob);

// {"kind": "JobSubmitted", ...its fields}.
nlohmann::json event_json(const Event& event);
nlohmann::json decision_json(const Decision& decision);
// The fields of the envelope that are not empty.
nlohmann::json cause_json(const Cause& cause);

// What agents and controllers send each other. These readers ignore fields they do not know, since
// the two may be of different versions; amounts and sizes are bounded all the same.
nlohmann::json grants_json(const std::vector<DeviceGrant>& devices);
Result<std::vector<DeviceGrant>> read_grants(const nlohmann::json& list);
nlohmann::json placement_json(const Placement& placement);
Result<Placement> read_placement(const nlohmann::json& value);
nlohmann::json inventory_json(const Inventory& inventory);
Result<Inventory> read_inventory(const nlohmann::json& value);
nlohmann::json task_exit_json(const TaskExit& exit);
Result<TaskExit> read_task_exit(const nlohmann::json& value);

// GET /v1/keys: a key without what it is made of.
nlohmann::json key_json(const Key& key);

// {"kind": "Pool", "name": "...", ...}; kinds are Cluster, Pool, Queue, Node, Limit, User,
// Project, Reservation.
nlohmann::json declared_json(const Declared& object);
Result<Declared> read_declared(const nlohmann::json& value);

}  // namespace dove::codec
