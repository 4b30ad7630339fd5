#include "server/yield.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/words.h"
#include "core/health.h"

namespace dove::server {
namespace {

using Kind = telemetry::Exposition::Kind;

constexpr std::size_t kSeriesMax = 10'000;
// A stop of the process, or of the clock, is nobody's idle time.
constexpr std::int64_t kPassed_max_us = 60'000'000;
constexpr const char* kUseful = "useful";
constexpr double kMilliMicroseconds = 1e9;  // of a second of a whole GPU

}  // namespace

void Yield::decided(const core::State& state, const Decision& decision) {
  if (const auto* forget = std::get_if<ForgetJob>(&decision)) by_job_.erase(forget->job);
  const auto* requeue = std::get_if<Requeue>(&decision);
  const auto* end = std::get_if<EndJob>(&decision);
  if (requeue == nullptr && end == nullptr) return;
  const JobId id = requeue != nullptr ? requeue->job : end->job;
  const core::Job* job = state.find_job(id);
  if (job != nullptr && !job->attempts.empty()) {
    const core::Attempt& attempt = job->attempts.back();
    const auto before = counted_.find(id);
    const bool is_counted = before != counted_.end() && before->second == attempt.number;
    if (!is_counted && attempt.ended_at.us != 0) count(*job, attempt);
    if (requeue != nullptr) counted_[id] = attempt.number;
  }
  if (end != nullptr) counted_.erase(id);
}

void Yield::count(const core::Job& job, const core::Attempt& attempt) {
  const bool ended_well = attempt.stop_reason == StopReason::kFinished;
  const Instant started = attempt.started_at.us == 0 ? attempt.ended_at : attempt.started_at;
  const Instant saved =
      ended_well ? attempt.ended_at : std::clamp(job.checkpoint_at, started, attempt.ended_at);
  const std::string cause =
      ended_well ? std::string("finished") : std::string(codec::word(attempt.stop_reason));
  for (const core::PlacementRecord& record : attempt.placements) {
    add(job, record, "preparing", started - attempt.allocated_at);
    add(job, record, kUseful, saved - started);
    add(job, record, cause.empty() ? "unknown" : cause, attempt.ended_at - saved);
  }
}

void Yield::add(const core::Job& job, const core::PlacementRecord& record, const std::string& cause,
                Span time) {
  std::int64_t milli = 0;
  for (const DeviceGrant& grant : record.placement.devices) milli += grant.share_milli;
  if (milli == 0 || time.us <= 0) return;
  std::tuple key(cause, job.spec->user, job.spec->queue);
  // Further users and queues are one.
  if (by_user_.size() >= kSeriesMax && by_user_.count(key) == 0) key = {cause, "", ""};
  by_user_[key] += milli * time.us;
  by_node_[{record.placement.node, cause}] += milli * time.us;
  by_job_[job.id][cause] += milli * time.us;
}

void Yield::passed(const core::State& state, std::int64_t now_us) {
  const std::int64_t time_us = now_us - passed_us_;
  const bool is_first = passed_us_ == 0;
  passed_us_ = now_us;
  if (is_first || time_us <= 0 || time_us > kPassed_max_us) return;
  for (const core::Node& node : state.nodes) {
    if (!node.removed && node.inventory != nullptr) add_idle(state, node, time_us);
  }
}

void Yield::add_idle(const core::State& state, const core::Node& node, std::int64_t time_us) {
  const bool is_open = node.contact == Contact::kConnected && !node.declared.drained &&
                       node.life == LifeStage::kProduction && !core::is_closed(node);
  const char* const free = state.usage.jobs_waiting > 0 ? "idle_while_waiting" : "idle";
  for (std::size_t i = 0; i < node.inventory->devices.size(); ++i) {
    const std::string& kind = node.inventory->devices[i].kind;
    if (kind != "gpu" && kind != "lost") continue;
    const bool is_there = is_open && kind == "gpu" && !core::is_device_closed(node, i);
    // Of a closed node it is not known what its last jobs leave free.
    const std::int64_t milli = is_there || node.jobs.empty() ? kWholeDevice_milli : 0;
    const std::int64_t amount =
        (is_there ? std::min<std::int64_t>(node.device_free_milli[i], milli) : milli) * time_us;
    if (amount == 0) continue;
    const std::string cause = is_there ? free : "unavailable";
    by_user_[{cause, "", ""}] += amount;
    by_node_[{node.id, cause}] += amount;
  }
}

void Yield::show(JobId job, nlohmann::json& object) const {
  nlohmann::json& out = object["yield"] = nullptr;
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return;
  out = {{"useful_gpu_s", 0.0}, {"lost_gpu_s", nlohmann::json::object()}};
  for (const auto& [cause, amount] : found->second) {
    const double seconds = static_cast<double>(amount) / kMilliMicroseconds;
    if (cause == kUseful) {
      out["useful_gpu_s"] = seconds;
    } else {
      out["lost_gpu_s"][cause] = seconds;
    }
  }
}

std::int64_t Yield::total(const std::string& cause) const {
  std::int64_t sum = 0;
  for (const auto& [key, amount] : by_user_) sum += std::get<0>(key) == cause ? amount : 0;
  return sum;
}

void Yield::add_to(telemetry::Exposition& out, const core::State& state) const {
  out.family("dove_yield_gpu_seconds_total", Kind::kCounter,
             "GPU time: of attempts that ended, useful or lost, by user and queue; idle.");
  for (const auto& [key, amount] : by_user_) {
    const auto& [cause, user, queue] = key;
    out.add({{"cause", cause}, {"user", user}, {"queue", queue}},
            static_cast<double>(amount) / kMilliMicroseconds);
  }
  out.family("dove_yield_node_gpu_seconds_total", Kind::kCounter,
             "GPU time: of attempts that ended, useful or lost, by node; idle.");
  for (const auto& [key, amount] : by_node_) {
    out.add({{"cause", key.second}, {"node", state.nodes[key.first.value - 1].name}},
            static_cast<double>(amount) / kMilliMicroseconds);
  }
}

}  // namespace dove::server
