#include "listener/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/words.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"

namespace dove::listener {
namespace {

using Json = nlohmann::json;
using Kind = telemetry::Exposition::Kind;

constexpr std::size_t kSeriesMax = 10'000;
// A stop of the process, or of the clock, is nobody's idle time.
constexpr std::int64_t kPassed_max_us = 60'000'000;
constexpr const char* kUseful = "useful";
constexpr const char* kAway = "unavailable";
constexpr const char* kIdle = "idle";
constexpr const char* kIdleWhileWaiting = "idle_while_waiting";
constexpr double kMilliMicroseconds = 1e9;  // of a second of a whole GPU

// part(node, cause, amount) for all that became of the attempt's GPUs.
template <class Part>
void each_part(const core::Attempt& attempt, Part part) {
  const bool ended_well = attempt.stop_reason == StopReason::kFinished;
  const Instant started = attempt.started_at.us == 0 ? attempt.ended_at : attempt.started_at;
  const Instant saved =
      ended_well ? attempt.ended_at : std::clamp(attempt.saved_at, started, attempt.ended_at);
  const std::string cause =
      ended_well ? std::string("finished") : std::string(codec::word(attempt.stop_reason));
  const std::pair<std::string, Span> parts[] = {
      {"preparing", started - attempt.allocated_at},
      {kUseful, saved - started},
      {cause.empty() ? "unknown" : cause, attempt.ended_at - saved}};
  for (const core::PlacementRecord& record : attempt.placements) {
    double milli = 0;
    for (const DeviceGrant& grant : record.placement->devices) milli += grant.share_milli;
    for (const auto& [of, time] : parts) {
      if (milli == 0 || time.us <= 0) continue;
      part(record.placement->node, of, milli * static_cast<double>(time.us));
    }
  }
}

}  // namespace

// The attempt ended with this decision, not before: a job that waits may be ended, too.
void Goodput::decided(const core::State& state, const Decision& decision) {
  const auto* requeue = std::get_if<Requeue>(&decision);
  const auto* end = std::get_if<EndJob>(&decision);
  if (requeue == nullptr && end == nullptr) return;
  const core::Job* job = state.find_job(requeue != nullptr ? requeue->job : end->job);
  if (job == nullptr || job->attempts.empty()) return;
  const core::Attempt& attempt = job->attempts.back();
  if (attempt.ended_at == state.now) count(*job, attempt);
}

void Goodput::count(const core::Job& job, const core::Attempt& attempt) {
  each_part(attempt, [&](NodeId node, const std::string& cause, double amount) {
    std::tuple key(cause, job.spec->user, job.spec->queue);
    // Further users and queues are one.
    if (by_user_.size() >= kSeriesMax && by_user_.count(key) == 0) key = {cause, "", ""};
    by_user_[key] += amount;
    by_node_[{node, cause}] += amount;
  });
}

bool Goodput::restore(const core::State& state, const std::string& kept) {
  Instant until;
  bool is_readable = true;
  if (!kept.empty()) {
    try {
      const Json object = Json::parse(kept);
      read(state, object);
      until = Instant{object.at("until_us").get<std::int64_t>()};
    } catch (const Json::exception&) {
      by_user_.clear();
      by_node_.clear();
      is_readable = false;
    }
  }
  for (const auto& [id, job] : state.jobs) {
    for (const core::Attempt& attempt : job.attempts) {
      if (attempt.ended_at > until) count(job, attempt);
    }
  }
  return is_readable;
}

void Goodput::read(const core::State& state, const Json& kept) {
  for (const Json& row : kept.at("by_user")) {
    by_user_[{row.at(0), row.at(1), row.at(2)}] = row.at(3);
  }
  for (const Json& row : kept.at("by_node")) {
    const NodeId node(row.at(0).get<std::uint32_t>());
    if (state.find_node(node) != nullptr) by_node_[{node, row.at(1)}] = row.at(2);
  }
}

std::string Goodput::keep(const core::State& state) const {
  Json users = Json::array();
  for (const auto& [key, amount] : by_user_) {
    const auto& [cause, user, queue] = key;
    users.push_back(Json::array({cause, user, queue, amount}));
  }
  std::string nodes;  // causes are words: nothing in them is to be escaped
  for (const auto& [key, amount] : all_by_node()) {
    nodes += fmt::format("{}[{},\"{}\",{}]", nodes.empty() ? "" : ",", key.first.value, key.second,
                         amount);
  }
  return fmt::format(R"({{"until_us":{},"by_user":{},"by_node":[{}]}})", state.now.us, users.dump(),
                     nodes);
}

void Goodput::passed(const core::State& state, std::int64_t now_us) {
  const std::int64_t since_us = now_us - passed_us_;
  const bool is_first = passed_us_ == 0;
  passed_us_ = now_us;
  if (is_first || since_us <= 0 || since_us > kPassed_max_us) return;
  const auto time_us = static_cast<double>(since_us);
  const bool some_wait = state.usage.jobs_waiting > 0;
  unallocated_.resize(state.nodes.size());
  double all_free_milli = 0;
  double all_away_milli = 0;
  for (const core::Node& node : state.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    Unallocated& unallocated = unallocated_[node.id];
    if (unallocated.inventory != node.inventory) find_gpus(node, unallocated);
    const bool is_open = core::is_available(node);
    double free_milli = 0;
    double away_milli = 0;
    for (const Gpu& gpu : unallocated.gpus) {
      if (is_open && !gpu.is_lost && !core::is_device_closed(node, gpu.device)) {
        free_milli += std::min(node.device_free_milli[gpu.device], kWholeDevice_milli);
      } else if (node.jobs.empty() && !core::is_device_foreign(node, gpu.device)) {
        away_milli += kWholeDevice_milli;  // else it is not known what its last jobs leave free
      }
    }
    (some_wait ? unallocated.idle_while_waiting : unallocated.idle) += free_milli * time_us;
    unallocated.unavailable += away_milli * time_us;
    all_free_milli += free_milli;
    all_away_milli += away_milli;
  }
  if (all_free_milli > 0) {
    by_user_[{some_wait ? kIdleWhileWaiting : kIdle, "", ""}] += all_free_milli * time_us;
  }
  if (all_away_milli > 0) by_user_[{kAway, "", ""}] += all_away_milli * time_us;
}

void Goodput::find_gpus(const core::Node& node, Unallocated& unallocated) {
  unallocated.inventory = node.inventory;
  unallocated.gpus.clear();
  for (std::size_t i = 0; i < node.inventory->devices.size(); ++i) {
    const std::string& kind = node.inventory->devices[i].kind;
    if (kind == "gpu" || kind == "lost") unallocated.gpus.push_back({i, kind == "lost"});
  }
}

Goodput::ByNode Goodput::all_by_node() const {
  ByNode all = by_node_;
  NodeId node;
  for (const Unallocated& unallocated : unallocated_) {
    ++node.value;
    if (unallocated.idle > 0) all[{node, kIdle}] += unallocated.idle;
    if (unallocated.idle_while_waiting > 0)
      all[{node, kIdleWhileWaiting}] += unallocated.idle_while_waiting;
    if (unallocated.unavailable > 0) all[{node, kAway}] += unallocated.unavailable;
  }
  return all;
}

void Goodput::show(const core::Job& job, Json& object) {
  std::map<std::string, double> by_cause;
  for (const core::Attempt& attempt : job.attempts) {
    if (attempt.ended_at.us == 0) continue;
    each_part(attempt,
              [&](NodeId, const std::string& cause, double amount) { by_cause[cause] += amount; });
  }
  object["goodput"] = object["yield"] = nullptr;
  if (by_cause.empty()) return;
  Json out = {{"useful_gpu_s", 0.0}, {"lost_gpu_s", Json::object()}};
  for (const auto& [cause, amount] : by_cause) {
    const double seconds = amount / kMilliMicroseconds;
    if (cause == kUseful) {
      out["useful_gpu_s"] = seconds;
    } else {
      out["lost_gpu_s"][cause] = seconds;
    }
  }
  object["yield"] = out;  // the old name, for one release
  object["goodput"] = std::move(out);
}

std::int64_t Goodput::total(const std::string& cause) const {
  double sum = 0;
  for (const auto& [key, amount] : by_user_) sum += std::get<0>(key) == cause ? amount : 0;
  return static_cast<std::int64_t>(sum);
}

void Goodput::add_to(telemetry::Exposition& out, const core::State& state,
                     const ShowsUser& shows) const {
  add_families(out, state, shows, "dove_goodput", "");
  add_families(out, state, shows, "dove_yield", "Deprecated, use dove_goodput_…: ");
}

void Goodput::add_families(telemetry::Exposition& out, const core::State& state,
                           const ShowsUser& shows, const std::string& prefix,
                           const std::string& warning) const {
  out.family(prefix + "_gpu_seconds_total", Kind::kCounter,
             warning + "GPU time of attempts that ended, useful or lost, by user and queue; idle.");
  for (const auto& [key, amount] : by_user_) {
    const auto& [cause, user, queue] = key;
    if (!shows(user)) continue;
    out.add({{"cause", cause}, {"user", user}, {"queue", queue}}, amount / kMilliMicroseconds);
  }
  out.family(prefix + "_node_gpu_seconds_total", Kind::kCounter,
             warning + "GPU time of attempts that ended, useful or lost, by node; idle.");
  for (const auto& [key, amount] : all_by_node()) {
    out.add({{"cause", key.second}, {"node", state.nodes[key.first].name}},
            amount / kMilliMicroseconds);
  }
}

}  // namespace dove::listener
