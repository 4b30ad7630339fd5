#include "server/executors/waiting_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/foreign_use.h"
#include "core/state/executors/kept_reservations.h"
#include "core/state/executors/linux_user.h"
#include "model/job_fields.h"

namespace dove::server {
namespace {

constexpr TextRule kIdRule{128, TextRule::Kind::kName};
constexpr TextRule kUserRule{255, TextRule::Kind::kName};
constexpr std::size_t kNodesMax = 100'000;
constexpr std::int32_t kNiceMax = 1'000'000;  // as priorities of submissions have it
constexpr std::int64_t kSecondsMax = 10LL * 365 * 86'400;
// The executor takes its time to end it by its limit; the ledger plans by both and enforces
// neither.
constexpr std::int64_t kLimitMargin_s = 120;

Result<std::string> user_of(const core::State& state, const std::string& linux_user) {
  if (core::linux_user_of(state, linux_user, RunAs::kSubmitter) == linux_user) return linux_user;
  for (const auto& [name, user] : state.users) {
    if (user.linux_user == linux_user) return name;
  }
  return Error{ErrorKind::kDenied, "no_user",
               fmt::format("no user here has the Linux user {0}: an administrator sets "
                           "`linux_user: {0}` of a User",
                           linux_user),
               "user"};
}

// The least of the nodes that it may be placed on: enough cores on each. The adapter counts cores
// by the same nodes (slurm/gate/gate_json.cc).
std::int32_t threads_for(const WaitingJob& job, const CoreThreads& threads) {
  if (threads.of.empty()) return threads.least;
  const bool names_all = job.nodes_wanted.size() >= static_cast<std::size_t>(job.nodes);
  const std::set<std::string_view> wanted(job.nodes_wanted.begin(), job.nodes_wanted.end());
  const std::set<std::string_view> excluded(job.nodes_excluded.begin(), job.nodes_excluded.end());
  std::optional<std::int32_t> least;
  for (const auto& [name, here] : threads.of) {
    if (names_all ? !wanted.contains(name) : excluded.contains(name)) continue;
    least = std::min(least.value_or(here), here);
  }
  return least.value_or(threads.least);
}

}  // namespace

void read_waiting_job(codec::JsonFields& fields, WaitingJob& job) {
  fields.text("id", job.id, kIdRule);
  fields.instant("submitted_at", job.submitted_at);
  fields.integer("restarts", job.restarts, 0, INT32_MAX);
  fields.text("user", job.user, kUserRule);
  fields.text("account", job.account);
  fields.text("qos", job.qos);
  fields.integer("nice", job.nice, -kNiceMax, kNiceMax);
  fields.text("name", job.name);
  fields.text("partition", job.partition);
  fields.integer("nodes", job.nodes, 1, kNodesMax);
  fields.integer("cores", job.cores, 1, 1 << 20);
  fields.integer("gpus", job.gpus, 0, 1024);
  fields.text("gpu_model", job.gpu_model);
  fields.bytes("memory", job.memory_bytes);
  fields.boolean("exclusive", job.exclusive);
  fields.integer("time_limit_s", job.time_limit_s, 0, kSecondsMax);
  fields.texts("features", job.features, kWishRule, kFeaturesMax);
  fields.countables("cluster_requests", job.cluster_requests);
  fields.text("reservation", job.reservation);
  fields.texts("nodes_wanted", job.nodes_wanted, kNameRule, kNodesMax);
  fields.texts("nodes_excluded", job.nodes_excluded, kNameRule, kNodesMax);
  fields.boolean("requeue", job.requeue);
  fields.boolean("batch", job.batch);
  fields.boolean("hold", job.hold);
  if (job.id.empty()) fields.fail("id", "missing_field", "name the job as its executor does");
  if (job.user.empty()) fields.fail("user", "missing_field", "say whose it is");
  if (job.submitted_at.us == 0) fields.fail("submitted_at", "missing_field", "say since when");
}

Result<codec::Submission> submission_of(const core::State& state, const Executor& executor,
                                        const WaitingJob& job, const CoreThreads& threads) {
  codec::Submission made;
  JobSpec& spec = made.spec;
  TRY_ASSIGN(spec.user, user_of(state, job.user));
  spec.executor = executor.name;
  spec.foreign_job = job.id;
  spec.name = job.name.empty() ? executor.name + "-" + job.id : job.name;
  for (const std::string& key : {"qos:" + job.qos, job.account}) {
    const auto queue = executor.queues.find(key);
    if (queue == executor.queues.end()) continue;
    spec.queue = queue->second;
    break;
  }
  spec.priority = -job.nice;
  if (state.pools.contains(job.partition)) spec.pool = job.partition;
  TaskGroup group;
  group.tasks = group.nodes_min = group.nodes_max = job.nodes;
  group.tasks_per_node = 1;
  group.per_task.cores = job.cores * threads_for(job, threads);
  group.per_task.gpus = job.gpus;
  group.per_task.gpu_model = job.gpus > 0 ? job.gpu_model : "";
  group.per_task.memory_bytes = job.memory_bytes;
  spec.groups.push_back(std::move(group));
  spec.exclusive = job.exclusive;
  if (job.time_limit_s > 0) spec.time_limit = seconds(job.time_limit_s + kLimitMargin_s);
  spec.features = job.features;
  spec.cluster_requests = job.cluster_requests;
  if (!job.reservation.empty()) {
    // The executor starts it with less than its limit left there, too, and ends it in time.
    spec.reservation = core::reservation_name(executor.name, job.reservation);
    spec.time_limit = Span{};
  }
  spec.nodes_wanted = job.nodes_wanted;
  spec.nodes_excluded = job.nodes_excluded;
  spec.requeue = job.requeue;
  // A command that waits for an allocation (salloc, srun) loses it for good.
  if (job.requeue && job.batch) spec.preempt = Preempt::kRestart;
  spec.hold = job.hold;
  made.exec.command = {executor.name, job.id};
  return made;
}

Result<codec::Submission> room_of(const core::State& state, const Executor& executor,
                                  const WaitingJob& job, const CoreThreads& threads) {
  const auto& names = executor.yields_to;
  if (std::find(names.begin(), names.end(), job.partition) == names.end()) {
    return Error{ErrorKind::kDenied, "no_room_for_partition",
                 fmt::format("nothing makes room for jobs of partition \"{}\": an administrator "
                             "names it in `yields_to` of executor {}",
                             job.partition, executor.name),
                 "partition"};
  }
  const std::string* queue = core::queue_of(state, executor.name, job.account);
  if (queue == nullptr || !state.queues.contains(*queue)) {
    return Error{ErrorKind::kDenied, "no_queue",
                 fmt::format("account \"{}\" stands for no queue: an administrator names one in "
                             "`queues` of executor {}",
                             job.account, executor.name),
                 "account"};
  }
  TRY_ASSIGN(codec::Submission made, submission_of(state, executor, job, threads));
  JobSpec& spec = made.spec;
  spec.queue = *queue;
  spec.priority = 0;
  spec.hold = false;
  // Nothing of it runs here: it waits on whatever befalls a node, and nobody stops it.
  spec.requeue = true;
  spec.preempt = Preempt::kNone;
  return made;
}

CoreThreads threads_of_cores(const core::State& state, const std::string& executor) {
  std::vector<const core::Node*> nodes;
  std::optional<std::int32_t> least;
  bool differ = false;
  for (const core::Node& node : state.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    if (core::find_executor(node, executor) == nullptr) continue;
    nodes.push_back(&node);
    const std::int32_t here = core::threads_per_core(*node.inventory);
    differ |= least.has_value() && *least != here;
    least = std::min(least.value_or(here), here);
  }
  CoreThreads found;
  found.least = least.value_or(1);
  if (!differ) return found;
  for (const core::Node* node : nodes)
    found.of[node->name] = core::threads_per_core(*node->inventory);
  return found;
}

}  // namespace dove::server
