// A Slurm with one node n1 of four devices, in memory. It gives devices to every request while they
// are free.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "slurm/cluster.h"

namespace dove::slurm {

inline constexpr std::int64_t kStart_us = 1'000'000'000'000;

class FakeSlurm : public SlurmCluster {
 public:
  FakeSlurm() {
    NodeSeen node;
    node.name = "n1";
    node.device_types = {"h_0", "h_1", "h_2", "h_3"};
    state.nodes.push_back(node);
  }

  Result<Observed> observe() override {
    if (silent) return Error{ErrorKind::kUnavailable, "slurm_command", "no answer", ""};
    ++looks_at_nodes;
    return state;
  }
  Result<std::vector<JobSeen>> observe_jobs(const std::vector<NodeSeen>&) override {
    if (silent) return Error{ErrorKind::kUnavailable, "slurm_command", "no answer", ""};
    return state.jobs;
  }
  Result<std::int64_t> ask(const Ask& ask) override {
    ++asked;
    if (!refusal.code.empty()) return refusal;
    const bool is_up = state.nodes.front().state == NodeSeen::State::kUp;
    if (!is_up) return Error{ErrorKind::kConflict, "no_room", "drained", ""};
    std::vector<int> devices;  // "gpu:h_2:1,gpu:h_3:1"
    for (std::size_t at = 0; (at = ask.gres.find("h_", at)) != std::string::npos; at += 2) {
      devices.push_back(ask.gres.at(at + 2) - '0');
    }
    for (const int device : devices) {
      if (holder(device) == nullptr) continue;
      if (ask.waits) return add_waiting(ask).id;
      return Error{ErrorKind::kConflict, "no_room", "busy", ""};
    }
    if (starts_later && ask.is_users) return add_waiting(ask).id;
    const bool is_marked = !ask.is_marked_by_gate || lua_marks;
    const std::int64_t id =
        add(ask.name, std::move(devices), is_marked ? placeholder_mark(ask.name) : "").id;
    (void)set_limit(id, ask.limit_minutes);
    if (loses_answers) return Error{ErrorKind::kTimeout, "too_slow", "no end", ""};
    return id;
  }
  Result<void> release(std::int64_t id) override {
    if (ends_slowly) {
      for (JobSeen& job : state.jobs) {
        if (job.id != id) continue;
        job.phase = JobPhase::kEnding;
        job.state = "CANCELLED COMPLETING";
      }
      return {};
    }
    std::erase_if(state.jobs, [id](const JobSeen& job) { return job.id == id; });
    for (JobSeen& job : state.jobs) {
      if (is_waiting_fence(job) && holder(device_of(job)) == nullptr) start(job);
    }
    return {};
  }
  Result<std::int64_t> warn(const std::string& handle) override {
    if (!warning_refusal.code.empty()) return warning_refusal;
    warned.push_back(handle);
    return wants_signal_s;
  }
  // Its processes end at once; the first that waits for one of its devices has all that it wants.
  Result<void> requeue(const std::string& handle, const std::string& why) override {
    requeued.push_back(handle);
    for (JobSeen& job : state.jobs) {
      if (job.handle != handle) continue;
      if (!why.empty()) job.mark = why;
      job.phase = JobPhase::kWaiting;
      job.state = "PENDING";
      job.allocations.clear();
    }
    for (JobSeen& job : state.jobs) {
      if (is_waiting_fence(job)) start(job);
    }
    return {};
  }
  Result<void> mark(const std::string& handle, const std::string& text) override {
    for (JobSeen& job : state.jobs) {
      if (is_meant(handle, job)) job.mark = text;
    }
    return {};
  }
  Result<void> suspend(std::int64_t id) override {
    for (JobSeen& job : state.jobs) {
      if (job.id == id) job.state = "SUSPENDED";
    }
    return {};
  }
  Result<void> set_limit(std::int64_t id, std::int64_t limit_minutes) override {
    for (JobSeen& job : state.jobs) {
      if (job.id == id) job.ends_s = limit_minutes == 0 ? 0 : job.started_s + limit_minutes * 60;
    }
    return {};
  }
  Result<void> set_drain(const std::string& name, const std::string& reason) override {
    if (!drain_refusal.code.empty()) return drain_refusal;
    for (NodeSeen& node : state.nodes) {
      if (node.name != name) continue;
      node.state = reason.empty() ? NodeSeen::State::kUp : NodeSeen::State::kDrained;
      node.reason = reason;
    }
    ++drains_set;
    return {};
  }

  // "100_8" is one task; "100" is job 100, and all tasks of array 100.
  static bool is_meant(const std::string& handle, const JobSeen& job) {
    return job.handle == handle || std::to_string(job.id) == handle ||
           job.handle.starts_with(handle + "_");
  }

  JobSeen& add(const std::string& name, std::vector<int> devices, const std::string& mark = "") {
    JobSeen job;
    job.id = ++last_id;
    job.name = name;
    job.user = "ada";
    job.phase = JobPhase::kHolding;
    job.state = "RUNNING";
    job.mark = mark;
    job.wants_devices = true;
    job.started_s = kStart_us / 1'000'000;
    job.allocations = {{"n1", {0}, std::move(devices), 0}};
    job.handle = std::to_string(job.id);
    state.jobs.push_back(job);
    return state.jobs.back();
  }

  JobSeen& add_waiting(const Ask& ask) {
    JobSeen& job = add(ask.name, {}, placeholder_mark(ask.name));
    job.phase = JobPhase::kWaiting;
    job.state = "PENDING";
    job.allocations.clear();
    return job;
  }

  static bool is_waiting_fence(const JobSeen& job) {
    return job.phase == JobPhase::kWaiting && job.name.starts_with("dove-keep-");
  }
  static int device_of(const JobSeen& fence) {  // "dove-keep-n1.2@dove"
    return fence.name.at(fence.name.rfind('.') + 1) - '0';
  }
  static void start(JobSeen& fence) {
    fence.phase = JobPhase::kHolding;
    fence.state = "RUNNING";
    fence.allocations = {{"n1", {0}, {device_of(fence)}, 0}};
  }

  // Whose processes may use it; ending jobs included.
  const JobSeen* holder(int device) const {
    for (const JobSeen& job : state.jobs) {
      if (job.phase == JobPhase::kEnded) continue;
      for (const NodeAllocation& held : job.allocations) {
        if (std::count(held.devices.begin(), held.devices.end(), device) > 0) return &job;
      }
    }
    return nullptr;
  }

  Observed state;
  bool loses_answers = false;  // what is asked for is given, and nobody hears of it
  bool silent = false;
  bool ends_slowly = false;   // what is released is still ending until the test takes it away
  bool starts_later = false;  // what is its user's waits in the queue
  bool lua_marks = true;      // the gate's Lua marks what we submit
  std::vector<std::string> requeued;
  std::vector<std::string> warned;
  std::int64_t wants_signal_s = 0;  // before their ends, all of its users
  Error warning_refusal;
  Error refusal;
  Error drain_refusal;
  int asked = 0;
  int looks_at_nodes = 0;
  int drains_set = 0;
  std::int64_t last_id = 1000;
};

}  // namespace dove::slurm
