#include "cli/client/start_wait.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/client/signals.h"
#include "cli/commands/job_list.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kFirstLook{300};  // what starts at once says nothing
constexpr std::chrono::seconds kLookAgain{2};
constexpr char kBackAndErase[] = "\r\x1b[K";

std::string waiting_text(Api& api, const std::string& id) {
  const Result<json> job = api.get(job_target(id));
  if (!job.ok()) return "";  // the server may be restarted meanwhile
  const std::string state = text_of(*job, "state");
  if (state == "running" || text_of(*job, "phase") == "ended") return "";
  std::string text = fmt::format("job {} is {}", id, state);
  if (text_of(*job, "phase") != "waiting") return text;
  const Result<json> why = api.get(job_target(id, "/why"));
  if (!why.ok()) return text;
  for (const json& reason : list_of(*why, "reasons")) {
    text += ": " + printable(text_of(reason, "text"));
    break;
  }
  const std::string promised = text_of(*why, "promised_start");
  if (!promised.empty()) text += fmt::format("; promised to start by {}", promised);
  return text;
}

// Says it in a thread of its own, for as long as it lives.
class ReasonLine {
 public:
  ReasonLine(const Endpoint& endpoint, std::string job)
      : api_(endpoint), job_(std::move(job)), rewrites_(isatty(STDERR_FILENO) == 1) {
    thread_ = std::thread([this] { run(); });
  }
  ~ReasonLine() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (rewrites_ && !said_.empty()) std::fputs(kBackAndErase, stderr);
  }
  ReasonLine(const ReasonLine&) = delete;
  ReasonLine& operator=(const ReasonLine&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kFirstLook, [this] { return over_; });
    while (!over_) {
      lock.unlock();
      const std::string text = waiting_text(api_, job_);
      lock.lock();
      if (!over_ && !text.empty() && text != said_) tell(text);
      changed_.wait_for(lock, kLookAgain, [this] { return over_; });
    }
  }

  void tell(const std::string& text) {
    said_ = text;
    if (!rewrites_) return say(text);
    const auto columns = static_cast<std::size_t>(terminal_size().columns);
    fmt::print(stderr, "{}dove: {}", kBackAndErase, clipped(text, columns > 8 ? columns - 7 : 1));
    std::fflush(stderr);
  }

  Api api_;
  const std::string job_;
  const bool rewrites_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::string said_;
  std::thread thread_;
};

}  // namespace

Result<Started> wait_for_start(Api& api, const std::string& job) {
  std::atomic<int> heard{0};
  const Endpoint endpoint = api.endpoint();
  {
    const SignalWatch watch([&heard, endpoint, job](int number) {
      if (heard.exchange(number) != 0) _exit(128 + number);
      Api own(endpoint);
      const Result<json> answer = own.send("POST", job_target(job, "/cancel"), json::object());
      if (!answer.ok()) say(answer.error().message);
    });
    const ReasonLine line(endpoint, job);
    TRY(wait_for_jobs(api, job, "started"));
  }
  if (heard != 0) {
    say(fmt::format("job {} is cancelled", job));
    return Started::kInterrupted;
  }
  TRY_ASSIGN(const json page, api.get(job_target(job)));
  return text_of(page, "phase") == "ended" ? Started::kEnded : Started::kRuns;
}

}  // namespace dove::cli
