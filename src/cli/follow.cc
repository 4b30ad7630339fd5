#include "cli/follow.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/job_list.h"
#include "cli/output.h"
#include "cli/signals.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kRanksFollowed = 32;

std::string log_target(const std::string& job, const LogWanted& wanted) {
  std::string query;
  const auto add = [&](const std::string& text) { query += (query.empty() ? "?" : "&") + text; };
  if (wanted.rank >= 0) add(fmt::format("rank={}", wanted.rank));
  if (wanted.attempt >= 0) add(fmt::format("attempt={}", wanted.attempt));
  if (wanted.error_stream) add("stream=stderr");
  if (wanted.follow) add("follow=1");
  return job_target(job, "/logs" + query);
}

bool has_begun(const JobView& job) {
  const AttemptView* attempt = job.last_attempt();
  return job.ended || (attempt != nullptr && attempt->started_at_us != 0 && !job.waiting());
}

Result<void> stream_log(Api& api, const std::string& job, const LogWanted& wanted) {
  const std::string margin = wanted.label ? fmt::format("{}: ", wanted.rank) : "";
  std::FILE* to = wanted.apart && wanted.error_stream ? stderr : stdout;
  return api.stream("GET", log_target(job, wanted), "", {}, [&](std::string_view line) {
    std::string text = margin;
    text += line;
    text += '\n';
    std::fwrite(text.data(), 1, text.size(), to);
    return std::fflush(to) == 0;
  });
}

void follow_rank(const Endpoint& endpoint, const std::string& job, const LogWanted& wanted) {
  Api own(endpoint);
  const Result<void> streamed = stream_log(own, job, wanted);
  if (streamed.ok()) return;
  const ErrorKind kind = streamed.error().kind;
  if (kind != ErrorKind::kNotFound && kind != ErrorKind::kConflict) say(streamed.error().message);
}

}  // namespace

Result<void> print_log(Api& api, const std::string& job, const LogWanted& wanted) {
  if (wanted.follow) {
    TRY(wait_for_jobs(api, job, has_begun));
    return stream_log(api, job, wanted);
  }
  if (wanted.label) return stream_log(api, job, wanted);
  TRY_ASSIGN(const std::string text, api.raw(log_target(job, wanted)));
  print(text);
  return {};
}

Result<int> run_to_end(Api& api, const std::string& job, int ranks, bool label) {
  std::atomic<int> heard{0};
  const Endpoint endpoint = api.endpoint();
  SignalWatch watch([&heard, endpoint, job](int number) {
    if (heard.exchange(number) != 0) _exit(128 + number);
    say(fmt::format("cancelling job {}; once more to leave it alone", job));
    Api own(endpoint);
    const Result<json> answer = own.send("POST", job_target(job, "/cancel"), json::object());
    if (!answer.ok()) say(answer.error().message);
  });
  if (ranks > 0) {
    TRY(wait_for_jobs(api, job, has_begun));
    std::vector<std::thread> followers;
    for (int rank = 0; rank < std::min(ranks, kRanksFollowed); ++rank) {
      LogWanted wanted;
      wanted.follow = true;
      wanted.rank = rank;
      wanted.label = label;
      wanted.apart = true;
      followers.emplace_back(follow_rank, endpoint, job, wanted);
      wanted.error_stream = true;
      followers.emplace_back(follow_rank, endpoint, job, wanted);
    }
    if (ranks > kRanksFollowed)
      say(fmt::format("only the first {} tasks' output is shown", kRanksFollowed));
    for (std::thread& follower : followers) follower.join();
  }
  TRY_ASSIGN(const std::vector<JobView> jobs,
             wait_for_jobs(api, job, [](const JobView& one) { return one.ended; }));
  if (heard != 0) return 128 + heard;
  return exit_code_of(jobs);
}

}  // namespace dove::cli
