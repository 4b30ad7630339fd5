#include "programs/service/log_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "controller/ledger.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::size_t kShown = 5;
constexpr std::string_view kBlob = "blob ";

std::string jobs_text(const std::vector<JobId>& jobs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(jobs.size(), kShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", jobs[i].value);
  }
  if (jobs.size() > kShown) text += fmt::format(" and {} more", jobs.size() - kShown);
  return text;
}

Error live_damage(const std::string& digest, const std::vector<JobId>& jobs,
                  const std::string& why) {
  return Error{
      ErrorKind::kCorrupt, "blob_damaged",
      fmt::format("what job {} is to run is damaged, and it is not over: {}", jobs_text(jobs), why),
      digest};
}

}  // namespace

BlobUsers blob_users(const core::State& state) {
  BlobUsers users;
  for (const auto& [id, job] : state.jobs) {
    auto& of = job.phase == JobPhase::kEnded ? users.over : users.live;
    of[job.spec->exec_digest].push_back(id);
  }
  return users;
}

Result<void> check_live_blobs(store::LogStore& store, const BlobUsers& users,
                              const std::atomic<bool>* stops) {
  for (const auto& [digest, jobs] : users.live) {
    if (stops != nullptr && *stops) return {};
    const Result<std::optional<std::string>> blob = store.blob(digest);
    if (blob.ok() && blob->has_value()) continue;
    if (!blob.ok() && blob.error().kind == ErrorKind::kUnavailable) return blob.error();
    return live_damage(
        digest, jobs, blob.ok() ? fmt::format("blob {} is missing", digest) : blob.error().message);
  }
  return {};
}

LogCheck::LogCheck(store::LogAuditor& store, store::LogStore* live, BlobUsers users,
                   std::function<void(Error)> on_damage)
    : store_(store),
      live_(live),
      users_(std::move(users)),
      thread_([this, on_damage = std::move(on_damage)] {
        const std::int64_t begun_us = telemetry::monotonic_us();
        const Result<void> checked = run();
        if (stops_) return;
        if (!checked.ok() && checked.error().kind == ErrorKind::kUnavailable) {
          return telemetry::log(telemetry::Level::kWarning, "log_not_verified",
                                {{"why", checked.error().message}});
        }
        if (!checked.ok()) return on_damage(checked.error());
        telemetry::log(telemetry::Level::kInfo, "log_verified",
                       {{"ms", (telemetry::monotonic_us() - begun_us) / 1'000}});
      }) {}

LogCheck::~LogCheck() {
  stops_ = true;
  thread_.join();
}

Result<void> LogCheck::run() {
  if (live_ != nullptr) TRY(check_live_blobs(*live_, users_, &stops_));
  TRY(store_.verify(&stops_));
  return check_blobs();
}

Result<void> LogCheck::check_blobs() {
  TRY_ASSIGN(const std::vector<Error> damages, store_.damages(&stops_));
  for (const Error& damage : damages) {
    if (stops_) return {};
    if (!damage.field.starts_with(kBlob)) {  // the log reaches back to the one before it
      telemetry::log(telemetry::Level::kError, "snapshot_passed_over", {{"what", damage.field}});
      continue;
    }
    const std::string digest = damage.field.substr(kBlob.size());
    if (const auto jobs = users_.live.find(digest); jobs != users_.live.end()) {
      return live_damage(digest, jobs->second, damage.message);
    }
    TRY(store_.set_aside(digest));
    const auto jobs = users_.over.find(digest);
    telemetry::log(telemetry::Level::kError, "blob_set_aside",
                   {{"sha256", digest},
                    {"why", "it was changed, and only jobs that are over ran it"},
                    {"jobs", jobs == users_.over.end() ? "none" : jobs_text(jobs->second)}});
  }
  return {};
}

}  // namespace dove::programs
