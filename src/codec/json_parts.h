// The pieces of the API's objects that several of its writers and readers share. For codec and
// views alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "codec/json_fields.h"
#include "model/declared.h"
#include "model/exec.h"
#include "model/executor.h"
#include "model/health.h"
#include "model/job.h"
#include "model/node.h"
#include "model/placement.h"

namespace dove::codec {

using Json = nlohmann::json;

// -- writing -------------------------------------------------------------------------------------

Json device_json(const Device& device);
Json countables_json(const std::vector<Countable>& countables);
Json finding_json(const Finding& finding);
Json foreign_json(const ForeignAllocation& allocation);
Json topology_json(const std::vector<TopologyUnit>& topology);
Json request_json(const Request& request);
Json group_json(const TaskGroup& group);
Json limits_json(const Limits& limits);
Json quota_json(const Quota& quota);
Json write(const QueueWeights& weights);  // those that are set
Json notice_subjects_json(const std::vector<NoticeAbout>& about);
// Declared objects, without their kind.
Json write(const NoticeTarget& target);
Json write(const Executor& executor);
Json write(const App& app);
Json write(const Settings& settings);
Json write(const Secret& secret);
Json write(const BootConfig& config);
// The fields of a JobSpec, flat, as a submission has them, with `user`.
Json spec_json(const JobSpec& spec);
// NAME (RFC 3339) and NAME_us; both null for kNever and, unless `zero_counts`, for 0.
void put_instant(Json& object, std::string_view name, Instant at, bool zero_counts = false);
// NAME_s, or NAME_us when it is not whole seconds.
void put_span(Json& object, std::string_view name, Span span);

// -- reading -------------------------------------------------------------------------------------

// The fields of a Request: cores, memory, gpus, share_milli, slice, slices, gpu_model, gpu_memory,
// countables.
void read_request(JsonFields& fields, Request& request);
// True when one of those is there.
bool has_request(JsonFields& fields);
void read_limits(JsonFields& fields, Limits& limits);
void read_quota(JsonFields& fields, Quota& quota);
// What a queue has for each unit of another queue of weight 1.
constexpr std::int32_t kQueueWeight_max = 1'000'000;
void read(JsonFields& fields, QueueWeights& weights);
// Sorted, each once.
void read_notice_subjects(JsonFields& fields, std::string_view field,
                          std::vector<NoticeAbout>& about);
void read(JsonFields& fields, NoticeTarget& target);
void read(JsonFields& fields, Executor& executor);
void read(JsonFields& fields, App& app);
void read(JsonFields& fields, Settings& settings);
void read(JsonFields& fields, Secret& secret);
void read(JsonFields& fields, BootConfig& config);
void read_affinity(JsonFields& fields, Affinity& affinity);
// Checks the amounts of a group and fills what was left out.
void read_group(JsonFields& fields, TaskGroup& group);
void read_spec(JsonFields& fields, JobSpec& spec);
void read_exec(JsonFields& fields, ExecSpec& exec);

}  // namespace dove::codec
