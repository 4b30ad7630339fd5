// JobSelect: the jobs that a path or a query names.
//
// Pure. "12" is a job, and where 12 is an array's first element the array; "12_3" is the element of
// index 3.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::server {

// One job: of an array's id its first element. Error: kNotFound no_such_job.
Result<const core::Job*> find_job(const core::State& state, std::string_view text);

// All elements, for an array's id. Never empty.
Result<std::vector<const core::Job*>> find_jobs(const core::State& state, std::string_view text);

// The (first) job that the record JobSubmitted at `seq` made; none when it was forgotten. Jobs have
// their ids in the order of these records, so that few are looked at.
JobId job_submitted_at(const core::State& state, Seq seq);

// "waiting", "running", ...: the words of job_json's "state", and "active", "ended".
struct JobQuery {
  std::set<std::string> states;
  std::string user;
  std::string queue;
  std::string project;
  std::string pool;
  std::string name;
  std::string label;
  std::string text;        // in the name, the user or the label, in letters of any case
  Instant submitted_from;  // at that instant or later
  Instant submitted_before = kNever;
  std::optional<Instant> ended_from;  // with one of these only what has ended
  std::optional<Instant> ended_before;
  std::optional<std::vector<JobId>> ids;
};
bool is_wanted(const core::State& state, const core::Job& job, const JobQuery& query);
// Whether `state` is among the words.
bool is_known_state(std::string_view state);

std::vector<std::string> split_list(std::string_view text);

}  // namespace dove::server
