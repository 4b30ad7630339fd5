// Reading jobs page by page: one job, those of an id (all elements of an array), or those of a
// filter.
//
// Include only from .cc files of this part.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/command.h"

namespace dove::cli {

struct JobFilter {
  std::vector<std::string> states;  // words of the API; empty: all
  std::vector<std::string> users, projects, queues, names, ids;
  std::vector<std::string> labels;  // "NAME=VALUE", all of them; empty: any
  std::optional<std::int64_t> submitted_from_us, submitted_before_us;  // only what was then
  std::optional<std::int64_t> ended_from_us, ended_before_us;          // only what ended then
  bool with_ended = true;
  bool full = false;       // all that a job's own page says, but for its command and files
  std::int64_t limit = 0;  // 0: all
};

// The jobs as the API has them. Kept by the filter here too, so that what a server does not filter
// is not shown.
Result<std::vector<nlohmann::json>> list_jobs(Api& api, const JobFilter& filter);

// "/v1/jobs?...", with at most `page_limit` of them on a page.
std::string jobs_target(const JobFilter& filter, int page_limit);

// The job, or all elements of the array, that `id` ("7", "12_3") names. kNotFound when there is
// none.
Result<std::vector<nlohmann::json>> find_jobs(Api& api, const std::string& id);

// Asks for what is below each job that the operands name ("/why"), and prints the answers: as JSON
// or YAML where -o says so, else as `text` puts them for people.
using JobText = std::function<std::string(Api&, const nlohmann::json& job, const nlohmann::json&)>;
Result<int> print_of_each_job(const Invocation& invocation, const std::string& rest,
                              const JobText& text);

struct Waited {
  struct Job {
    std::string id;
    std::string state;
    std::int64_t exit_code = 0;
  };
  int exit_code = 0;  // the highest; 1 for a job that ended badly without one
  std::vector<Job> not_completed;
};

// Waits until all jobs that `id` names have come there: "started" (or over), "settled" (no attempt
// goes on), "ended". Costs nothing while nothing happens, and survives a restart of the server.
Result<Waited> wait_for_jobs(Api& api, const std::string& id, const std::string& until);

}  // namespace dove::cli
