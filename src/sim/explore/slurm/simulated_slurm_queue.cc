// The queue of SimulatedSlurm's open partition, where there is no gate: what has no room waits in
// it, with the reason that Slurm gives.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/explore/slurm/simulated_slurm.h"

namespace dove::sim {
namespace {

using slurm::JobPhase;

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kLook_us = 5 * kSecond_us;
// One look in this number begins one behind the first in the queue, or says nothing of it.
constexpr std::uint64_t kOdd = 16;

}  // namespace

std::int64_t SimulatedSlurm::submit_open(int devices, bool is_urgent) {
  Record& job = new_job(devices, !random_.one_in(3));
  job.is_queued = true;
  job.seen.account = is_urgent ? kUrgent_account : kOpen_account;
  job.seen.partition = kOpen_partition;
  job.seen.handle = std::to_string(job.seen.id);
  job.seen.may_requeue = job.may_requeue;
  job.seen.priority = static_cast<std::int64_t>(random_.below(4));
  job.submitted_s = now_s();
  look_at_queue_soon();
  return job.seen.id;
}

// Only of who starts next is known what it asks for (slurm::JobSeen).
void SimulatedSlurm::waits_for(Record& job, const char* reason) {
  job.seen.reason = reason;
  job.seen.asks.reset();
  if (job.seen.reason != slurm::kLacksRoom) return;
  slurm::GateSeen& asks = job.seen.asks.emplace();
  asks.is_batch = true;
  asks.may_requeue = job.may_requeue;
  asks.restarts = static_cast<int>(job.seen.restarts);
  asks.limit_minutes = job.limit_minutes;
  asks.submitted_s = job.submitted_s;
  asks.handle = job.seen.handle;
  asks.gpus_per_node = job.devices_wanted;
  asks.memory_per_node = job.memory_bytes;
}

void SimulatedSlurm::look_at_queue_soon() {
  if (std::exchange(looks_at_queue_, true)) return;
  agenda_.in(random_.around(kLook_us), [this] {
    looks_at_queue_ = false;
    look_at_queue();
  });
}

// On whatever node has room, wherever the ledger has made some.
bool SimulatedSlurm::starts_from_queue(Record& job) {
  const std::size_t first = random_.below(options_.nodes.size());
  for (std::size_t i = 0; i < options_.nodes.size(); ++i) {
    job.node = options_.nodes[(first + i) % options_.nodes.size()];
    std::vector<int> devices = room_for(job);
    if (devices.empty()) continue;
    ++jobs_begun_;
    run(job.seen.id, std::move(devices));
    return true;
  }
  job.node.clear();
  return false;
}

void SimulatedSlurm::look_at_queue() {
  std::vector<Record*> waiting;
  for (auto& [id, job] : jobs_) {
    if (job.is_queued && job.seen.phase == JobPhase::kWaiting) waiting.push_back(&job);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Record* a, const Record* b) {
    return std::tuple(-a->seen.priority, a->seen.id) < std::tuple(-b->seen.priority, b->seen.id);
  });
  bool lacks_room = false;
  for (Record* const job : waiting) {
    if (job->is_user_held) {
      waits_for(*job, "JobHeldUser");
    } else if (agenda_.now_us() < job->not_before_us) {
      waits_for(*job, "BeginTime");
    } else if (lacks_room && !random_.one_in(kOdd)) {
      waits_for(*job, "Priority");
    } else if (!starts_from_queue(*job)) {
      const char* const first = random_.one_in(kOdd) ? "None" : slurm::kLacksRoom;
      waits_for(*job, lacks_room ? "Priority" : first);
      lacks_room = true;
    }
  }
  if (!waiting.empty()) look_at_queue_soon();
}

}  // namespace dove::sim
