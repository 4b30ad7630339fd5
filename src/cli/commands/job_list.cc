#include "cli/commands/job_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/terminal/output.h"
#include "wire/sse.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kPageJobs = 1000;

bool among(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

bool wanted(const JobFilter& filter, const JobView& job) {
  return among(filter.states, job.state) && among(filter.users, job.user) &&
         among(filter.queues, job.queue) && among(filter.names, job.name) &&
         (filter.with_ended || !job.ended);
}

std::string query_of(const JobFilter& filter) {
  std::string query = fmt::format("?limit={}", kPageJobs);
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
  if (filter.queues.size() == 1) add("queue", filter.queues);
  if (filter.names.size() == 1) add("name", filter.names);
  return query;
}

// Runs `look` now and after each event of the job until it is true.
class Watch {
 public:
  explicit Watch(Api& api) : api_(api), stream_(api.endpoint()) {}

  // Only these events make it look again.
  void set_query(std::string query) { query_ = std::move(query); }

  Result<void> until(const std::function<Result<bool>()>& look) {
    int failures = 0;
    while (true) {
      const Result<bool> done = once(look);
      if (done.ok() && *done) return {};
      if (!done.ok()) {
        if (done.error().kind != ErrorKind::kUnavailable || ++failures > 60) return done.error();
        std::this_thread::sleep_for(std::chrono::milliseconds(std::min(100 * failures, 2000)));
      } else {
        failures = 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
  }

 private:
  Result<bool> once(const std::function<Result<bool>()>& look) {
    // The head is read before the job is: whatever happens after it is streamed.
    TRY_ASSIGN(const json cluster, api_.get("/v1/cluster"));
    const std::string head = text_of(cluster, "log_head");
    TRY_ASSIGN(const bool done, look());
    if (done) return true;
    bool ended = false;
    Error failure;
    bool failed = false;
    wire::SseParser parser;
    const Result<void> streamed = stream_.stream(
        "GET", "/v1/events" + query_, "",
        {{"Accept", "text/event-stream"}, {"Last-Event-ID", head}}, [&](std::string_view line) {
          const std::optional<wire::SseEvent> event = parser.feed_line(line);
          if (!event) return true;
          const Result<bool> now = look();
          failed = !now.ok();
          if (failed) failure = now.error();
          ended = now.ok() && *now;
          return !ended && !failed;
        });
    if (failed) return failure;
    if (ended) return true;
    if (!streamed.ok()) return streamed.error();
    return false;
  }

  Api& api_;
  Api stream_;  // its own connection: one carries the events, the other asks
  std::string query_ = "?kind=EndJob,ForgetJob,Launch,PlacementStarted,Requeue";
};

}  // namespace

Result<std::vector<json>> list_jobs(Api& api, const JobFilter& filter) {
  std::vector<json> jobs;
  std::string after;
  while (true) {
    std::string target = "/v1/jobs" + query_of(filter);
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

Result<std::vector<JobView>> wait_for_jobs(Api& api, const std::string& id,
                                           const std::function<bool(const JobView&)>& done) {
  std::vector<JobView> jobs;
  Watch watch(api);
  TRY(watch.until([&]() -> Result<bool> {
    TRY_ASSIGN(const std::vector<json> found, find_jobs(api, id));
    if (found.size() == 1) watch.set_query("?job=" + text_of(found[0], "id"));
    jobs.clear();
    bool all = true;
    for (const json& job : found) {
      jobs.push_back(read_job(job));
      all = all && done(jobs.back());
    }
    return all;
  }));
  return jobs;
}

int exit_code_of(const std::vector<JobView>& jobs) {
  std::int64_t code = 0;
  for (const JobView& job : jobs) {
    const std::int64_t own = job.exit_code == 0 && job.state != "completed" ? 1 : job.exit_code;
    code = std::max(code, own);
  }
  return static_cast<int>(std::min<std::int64_t>(code, 255));
}

}  // namespace dove::cli
