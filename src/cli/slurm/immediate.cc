#include "cli/slurm/immediate.h"

#include <fmt/format.h>
#include <pthread.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/client/views.h"
#include "cli/face.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

constexpr int kSecondsMax = 10 * 365 * 86'400;

}  // namespace

Result<std::optional<int>> immediate_s(const Invocation& invocation) {
  if (!invocation.has("immediate")) return std::optional<int>();
  const std::string text = invocation.get("immediate");
  if (text.empty()) return std::optional<int>(1);
  int seconds = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || at != text.data() + text.size() || seconds < 1 ||
      seconds > kSecondsMax) {
    return usage_error(
        fmt::format("--immediate={}: give a whole number of seconds, 1 or more", text));
  }
  return std::optional<int>(seconds);
}

StartLimit::StartLimit(Endpoint endpoint, std::string id, std::optional<int> limit_s) {
  if (!limit_s) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // Ctrl-C is for whoever waits for the job
  thread_ = std::thread([this, endpoint = std::move(endpoint), id = std::move(id),
                         seconds = *limit_s] { watch(endpoint, id, seconds); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StartLimit::~StartLimit() { end(); }

void StartLimit::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  end_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool StartLimit::has_passed() {
  end();
  return passed_;
}

void StartLimit::watch(const Endpoint& endpoint, const std::string& id, int limit_s) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (end_.wait_for(lock, std::chrono::seconds(limit_s), [this] { return over_; })) return;
  }
  Api api(endpoint);
  const Result<nlohmann::json> page = api.get(job_target(id));
  if (!page.ok() || !read_job(*page).waiting()) return;
  passed_ = api.send("POST", job_target(id, "/cancel"), nlohmann::json::object()).ok();
}

void tell_busy(const std::string& face) {
  face_says(face, "error: Unable to allocate resources: Requested nodes are busy");
}

}  // namespace dove::cli
