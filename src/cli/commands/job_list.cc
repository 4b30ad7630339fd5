#include "cli/commands/job_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/client/pages.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "wire/sse.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kPageJobs = 1000;
constexpr int kFailuresMax = 60;  // in a row: two minutes
constexpr std::size_t kWaitedBytesMax = 16 << 20;

bool among(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

bool wanted(const JobFilter& filter, const JobView& job) {
  return among(filter.states, job.state) && among(filter.users, job.user) &&
         among(filter.projects, job.project) && among(filter.queues, job.queue) &&
         among(filter.names, job.name) && (filter.with_ended || !job.ended);
}

Result<Waited> read_waited(const std::string& line) {
  TRY_ASSIGN(const json body, codec::parse_json(line, kWaitedBytesMax));
  Waited waited;
  waited.exit_code = static_cast<int>(number_of(body, "exit_code"));
  for (const json& job : list_of(body, "not_completed")) {
    waited.not_completed.push_back(
        {text_of(job, "id"), text_of(job, "state"), number_of(job, "exit_code")});
  }
  return waited;
}

}  // namespace

std::string jobs_target(const JobFilter& filter, int page_limit) {
  std::string query = fmt::format("/v1/jobs?limit={}", page_limit);
  const auto add = [&](const char* name, const std::vector<std::string>& words) {
    if (words.empty()) return;
    query +=
        fmt::format("&{}={}", name, wire::percent_encode(fmt::format("{}", fmt::join(words, ","))));
  };
  if (filter.states.empty() && !filter.with_ended) add("state", {"waiting", "held", "active"});
  add("state", filter.states);
  if (filter.full) query += "&full=1";
  add("ids", filter.ids);
  if (filter.users.size() == 1) add("user", filter.users);
  if (filter.projects.size() == 1) add("project", filter.projects);
  if (filter.queues.size() == 1) add("queue", filter.queues);
  if (filter.names.size() == 1) add("name", filter.names);
  query += labels_query(filter.labels);
  if (filter.submitted_from_us) {
    query += fmt::format("&submitted_from={}", *filter.submitted_from_us);
  }
  if (filter.submitted_before_us) {
    query += fmt::format("&submitted_before={}", *filter.submitted_before_us);
  }
  if (filter.ended_from_us) query += fmt::format("&ended_from={}", *filter.ended_from_us);
  if (filter.ended_before_us) query += fmt::format("&ended_before={}", *filter.ended_before_us);
  return query;
}

Result<std::vector<json>> list_jobs(Api& api, const JobFilter& filter) {
  std::vector<json> jobs;
  std::string after;
  while (true) {
    std::string target = jobs_target(filter, kPageJobs);
    if (!after.empty()) target += "&after=" + wire::percent_encode(after);
    TRY_ASSIGN(const json page, api.get(target));
    for (const json& job : items_of(page, "jobs")) {
      if (!wanted(filter, read_job(job))) continue;
      jobs.push_back(job);
      if (filter.limit > 0 && static_cast<std::int64_t>(jobs.size()) >= filter.limit) return jobs;
    }
    const std::string next = text_of(page, "next");
    if (next.empty() || next == after) return jobs;
    after = next;
  }
}

Result<std::vector<json>> find_jobs(Api& api, const std::string& id) {
  if (id.find('_') == std::string::npos) {
    JobFilter filter;
    filter.ids = {id};
    const Result<std::vector<json>> found = list_jobs(api, filter);
    if (found.ok() && found->size() > 1) return *found;
  }
  TRY_ASSIGN(json job, api.get(job_target(id)));
  if (const json& elements = list_of(job, "jobs"); !elements.empty()) {
    return std::vector<json>(elements.begin(), elements.end());
  }
  return std::vector<json>{std::move(job)};
}

Result<Waited> wait_for_jobs(Api& api, const std::string& id, const std::string& until) {
  const std::string target = job_target(id, "/wait?until=" + until);
  for (int failures = 0;;) {
    std::string answer;
    const Result<void> streamed = api.stream("GET", target, "", {}, [&](std::string_view line) {
      failures = 0;
      answer = line;
      return answer.empty();  // blank: it goes on
    });
    if (!answer.empty()) return read_waited(answer);
    if (!streamed.ok() && streamed.error().kind != ErrorKind::kUnavailable) return streamed.error();
    if (++failures > kFailuresMax) {
      return streamed.ok() ? Error{ErrorKind::kUnavailable, "no_answer",
                                   "the server keeps ending the wait early; see its log", ""}
                           : streamed.error();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(100 * failures, 2000)));
  }
}

Result<int> print_of_each_job(const Invocation& invocation, const std::string& rest,
                              const JobText& text) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  for (const std::string& id : invocation.operands) {
    TRY_ASSIGN(const std::vector<json> found, find_jobs(api, id));
    for (const json& job : found) {
      TRY_ASSIGN(const json answer, api.get(job_target(read_job(job).id, rest)));
      if (format == Format::kJson || format == Format::kYaml) {
        print_value(answer, format);
      } else {
        print(text(api, job, answer));
      }
    }
  }
  return kExitOk;
}

}  // namespace dove::cli
