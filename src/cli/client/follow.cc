#include "cli/client/follow.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/client/signals.h"
#include "cli/commands/job_list.h"
#include "cli/terminal/output.h"
#include "telemetry/clock.h"

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
  if (wanted.error_stream && wanted.apart) add("apart=1");
  if (wanted.follow) add("follow=1");
  if (wanted.offset > 0) add(fmt::format("offset={}", wanted.offset));
  return job_target(job, "/logs" + query);
}

// Prints one log as it comes. What breaks on the way (the server, its connection to the node) is
// waited for, and the rest asked for.
class LogFollower {
 public:
  LogFollower(Endpoint endpoint, std::string job, const LogWanted& wanted)
      : endpoint_(std::move(endpoint)), job_(std::move(job)), wanted_(wanted) {}

  Result<void> run() {
    std::int64_t touch_us = telemetry::monotonic_us();
    bool has_ended = false;
    while (true) {
      const std::int64_t before = wanted_.offset;
      const bool at_tail = wanted_.tail >= 0;
      Api api(endpoint_);
      const Result<void> streamed =
          at_tail ? begin_at_tail(api)
                  : api.stream_bytes(log_target(job_, wanted_),
                                     [this](std::string_view bytes) { return take(bytes); });
      if (reader_gone_) return {};
      // The end comes twice: the first may be that of a connection on the way.
      if (streamed.ok() && !at_tail && (wanted_.offset == before || !wanted_.follow)) {
        return finish();
      }
      const std::int64_t now_us = telemetry::monotonic_us();
      if (streamed.ok() || wanted_.offset != before) touch_us = now_us;
      if (streamed.ok()) {
        has_ended = !at_tail;
        continue;
      }
      // The next one has begun, and writes to the same file (executors alone).
      if (has_ended && streamed.error().code == "earlier_attempt") return finish();
      const bool may_pass = wanted_.follow && streamed.error().kind == ErrorKind::kUnavailable;
      if (!may_pass || now_us - touch_us > kPatience_us) return streamed;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

 private:
  static constexpr std::int64_t kPatience_us = 60'000'000;
  static constexpr std::chrono::milliseconds kBetweenTries{300};
  static constexpr std::size_t kTailBytesMax = std::size_t{4} << 20;

  // Passes over what there is now but for the last lines. The server could, but then nobody would
  // know where to go on after a restart.
  Result<void> begin_at_tail(Api& api) {
    LogWanted now = wanted_;
    now.follow = false;
    std::int64_t bytes_seen = 0;
    std::string last;
    const auto trim = [&] {
      std::size_t begin = last.size();
      std::int64_t lines = last.ends_with('\n') ? -1 : 0;
      while (begin > 0 && last.size() - begin < kTailBytesMax) {
        if (last[begin - 1] == '\n' && ++lines >= wanted_.tail) break;
        --begin;
      }
      last.erase(0, wanted_.tail == 0 ? last.size() : begin);
    };
    TRY(api.stream_bytes(log_target(job_, now), [&](std::string_view bytes) {
      bytes_seen += static_cast<std::int64_t>(bytes.size());
      last += bytes;
      if (last.size() > 2 * kTailBytesMax) trim();
      return true;
    }));
    trim();
    wanted_.offset = bytes_seen - static_cast<std::int64_t>(last.size());
    wanted_.tail = -1;
    return {};
  }

  bool take(std::string_view bytes) {
    wanted_.offset += static_cast<std::int64_t>(bytes.size());
    if (!wanted_.label) return put(bytes);
    partial_ += bytes;
    std::string text;
    std::size_t at = 0;
    for (std::size_t end = partial_.find('\n'); end != std::string::npos;
         end = partial_.find('\n', at)) {
      text += fmt::format("{}: {}\n", wanted_.rank, partial_.substr(at, end - at));
      at = end + 1;
    }
    partial_.erase(0, at);
    return put(text);
  }

  bool put(std::string_view text) {
    std::FILE* to = wanted_.apart && wanted_.error_stream ? stderr : stdout;
    std::fwrite(text.data(), 1, text.size(), to);
    reader_gone_ = std::fflush(to) != 0;
    return !reader_gone_;
  }

  Result<void> finish() {
    if (!partial_.empty()) put(fmt::format("{}: {}\n", wanted_.rank, partial_));
    return {};
  }

  const Endpoint endpoint_;
  const std::string job_;
  LogWanted wanted_;
  std::string partial_;  // of a line that is to be labelled
  bool reader_gone_ = false;
};

void follow_rank(const Endpoint& endpoint, const std::string& job, const LogWanted& wanted) {
  const Result<void> followed = LogFollower(endpoint, job, wanted).run();
  if (followed.ok()) return;
  const ErrorKind kind = followed.error().kind;
  // The caller says that a single task never started, with the exit code.
  const bool tells = followed.error().code == "never_started" && !wanted.error_stream;
  if (tells || (kind != ErrorKind::kNotFound && kind != ErrorKind::kConflict)) {
    say(followed.error().message);
  }
}

}  // namespace

Result<void> follow_task(const Endpoint& endpoint, const std::string& job,
                         const LogWanted& wanted) {
  return LogFollower(endpoint, job, wanted).run();
}

Result<void> print_log(Api& api, const std::string& job, LogWanted wanted) {
  if (!wanted.follow && !wanted.label) {
    TRY_ASSIGN(const std::string text, api.raw(log_target(job, wanted)));
    print(text);
    return {};
  }
  if (wanted.follow) {
    TRY(wait_for_jobs(api, job, "started"));
    TRY_ASSIGN(const json found, api.get(job_target(job)));
    const JobView one = read_job(found);
    const AttemptView* last = one.last_attempt();
    if (wanted.attempt < 0 && last != nullptr) wanted.attempt = last->number;
  }
  return LogFollower(api.endpoint(), job, wanted).run();
}

Result<int> run_to_end(Api& api, const std::string& job, int ranks, bool label) {
  std::atomic<int> heard{0};
  const Endpoint endpoint = api.endpoint();
  SignalWatch watch([&heard, endpoint, job](int number) {
    if (heard.exchange(number) != 0) _exit(128 + number);
    say(fmt::format("cancelling job {}; press Ctrl-C again to leave without waiting", job));
    Api own(endpoint);
    const Result<json> answer = own.send("POST", job_target(job, "/cancel"), json::object());
    if (!answer.ok()) say(answer.error().message);
  });
  if (ranks > 0) {
    TRY(wait_for_jobs(api, job, "started"));
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
  TRY_ASSIGN(const Waited waited, wait_for_jobs(api, job, "ended"));
  if (heard != 0) return 128 + heard;
  return waited.exit_code;
}

}  // namespace dove::cli
