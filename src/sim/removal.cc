#include "sim/removal.h"

#include <algorithm>

#include "base/check.h"
#include "codec/words.h"
#include "core/explain/place_causes.h"
#include "core/place/limits.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "model/resource_names.h"
#include "text/hostlist.h"

namespace dove::sim {
namespace {

using core::Node;
using core::State;

// The job's own copy of its spec, to be changed.
class OwnSpec {
 public:
  OwnSpec(State& state, JobId id)
      : job_(state.jobs.find(id)->second), spec_(std::make_shared<JobSpec>(*job_.spec)) {
    job_.spec = spec_;
  }
  JobSpec* operator->() { return spec_.get(); }

 private:
  core::Job& job_;
  std::shared_ptr<JobSpec> spec_;
};

void drop_dependency(State& state, JobId id, const Reason& reason) {
  const core::Job& job = *state.find_job(id);
  OwnSpec spec(state, id);
  if (spec->any_dependency) return spec->dependencies.clear();
  for (const Dependency& one : spec->dependencies) {
    const core::DependencyVerdict verdict = core::check_dependency(state, job, one);
    if (verdict.level == core::DependencyLevel::kMet || verdict.other != reason.other) continue;
    if (codec::word(one.kind) != reason.subject) continue;
    const Dependency gone = one;
    std::erase(spec->dependencies, gone);
    return;
  }
}

void lift(Limits& limits, const std::string& resource) {
  if (resource == "jobs") limits.jobs_running = -1;
  if (resource == "cores") limits.cores = -1;
  if (resource == "gpus_milli") limits.gpus_milli = -1;
  if (resource == "memory_bytes") limits.memory_bytes = -1;
  if (resource == "gpu_ms_month") limits.gpu_ms_month = -1;
  if (resource == "job_cores") limits.job.cores = -1;
  if (resource == "job_gpus_milli") limits.job.gpus_milli = -1;
  if (resource == "job_memory_bytes") limits.job.memory_bytes = -1;
  std::erase_if(limits.countables, [&](const Countable& one) { return one.name == resource; });
  std::erase_if(limits.gpus_by_model,
                [&](const Countable& one) { return std::string(kByModel) + one.name == resource; });
}

void lift_user(State& state, const std::string& user, const std::string& resource) {
  auto at = state.user_limits.find(user);
  if (at == state.user_limits.end()) at = state.user_limits.find("*");
  CHECK(at != state.user_limits.end(), "a limit of a user is declared");
  lift(at->second.limits, resource);
}

void raise(std::vector<Countable>& countables, const std::string& name, std::int64_t by) {
  for (Countable& one : countables) {
    if (one.name != name) continue;
    one.amount += by;
    return;
  }
  countables.push_back({name, by});
  std::sort(countables.begin(), countables.end(),
            [](const Countable& a, const Countable& b) { return a.name < b.name; });
}

std::vector<Node*> nodes_of_pool(State& state, const JobSpec& spec) {
  std::vector<Node*> nodes;
  const Pool* pool = core::pool_of(state, spec);
  for (Node& node : state.nodes) {
    const bool in = !node.removed && node.inventory != nullptr && pool != nullptr;
    if (in && text::any_hostlist_holds(pool->nodes, node.name)) nodes.push_back(&node);
  }
  return nodes;
}

bool is_about_devices(const std::string& resource) {
  return resource == "gpus" || resource == "share_milli" || resource.starts_with("slice:");
}

void free_all(const State& state, Node& node, const std::string& resource) {
  Node empty = node;
  empty.jobs.clear();
  core::rebuild_books(state, empty);
  if (resource == "nodes") {
    node = empty;
  } else if (resource == "cores") {
    node.cores_free = empty.cores_free;
  } else if (resource == "memory_bytes") {
    node.memory_free_bytes = empty.memory_free_bytes;
  } else if (is_about_devices(resource)) {
    node.device_free_milli = empty.device_free_milli;
    node.slots_taken = empty.slots_taken;
  } else {
    const std::int64_t all = core::amount_of(empty.countables_free, resource);
    raise(node.countables_free, resource, all - core::amount_of(node.countables_free, resource));
  }
}

// The job is one task that asks for nothing, and there is a node for it, in a unit of its own.
void shrink(State& state, JobId id) {
  OwnSpec spec(state, id);
  spec->groups.assign(1, TaskGroup{});
  spec->exclusive = false;
  spec->features.clear();
  Node node;
  node.id = NodeId(static_cast<std::uint32_t>(state.nodes.size() + 1));
  node.name = "added";
  node.boot_id = "boot";
  node.inventory = std::make_shared<Inventory>();
  node.declared.name = node.name;
  if (!spec->domain.empty()) node.declared.topology = {{spec->domain, "added"}};
  node.contact = Contact::kConnected;
  core::rebuild_books(state, node);
  state.pools.at(core::pool_of(state, *state.find_job(id)->spec)->name).nodes.push_back(node.name);
  if (!spec->nodes_wanted.empty()) spec->nodes_wanted.push_back(node.name);
  state.nodes.push_back(std::move(node));
}

void ask_for_none(State& state, JobId id, const std::string& resource) {
  OwnSpec spec(state, id);
  for (const core::Kind& kind : core::kinds_of(*state.find_job(id)->spec)) {
    if (kind.name != resource) continue;
    for (TaskGroup& group : spec->groups) {
      kind.clear(group.per_task);
      kind.clear(group.per_node);
    }
    return;
  }
  CHECK(false, "what never fits is something that the job asks for");
}

void bring_back_nodes(State& state, const JobSpec& spec) {
  for (Node* node : nodes_of_pool(state, spec)) {
    node->contact = Contact::kConnected;
    node->declared.drained = false;
  }
}

void never_fits(State& state, JobId id, const Reason& reason) {
  if (!reason.level.empty()) {
    OwnSpec spec(state, id);
    spec->domain.clear();
  } else if (reason.resource == "nodes") {
    shrink(state, id);
  } else {
    ask_for_none(state, id, reason.resource);
  }
}

}  // namespace

void empty_nodes(State& state) {
  for (Node& node : state.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    node.jobs.clear();
    node.executors.clear();
    core::rebuild_books(state, node);
  }
}

void remove_reason(State& state, JobId id, const Reason& reason) {
  core::Job& job = state.jobs.find(id)->second;
  switch (reason.kind) {
    case ReasonKind::kHeld:
      job.held = false;
      return;
    case ReasonKind::kBeginTime:
      OwnSpec(state, id)->begin_at = {};
      job.not_before = {};
      return;
    case ReasonKind::kDependency:
      return drop_dependency(state, id, reason);
    case ReasonKind::kArrayLimit:
      OwnSpec(state, id)->array.running_max = 0;
      return;
    case ReasonKind::kQueueLimit:
      return lift(state.queues.at(reason.subject).limits, reason.resource);
    case ReasonKind::kProjectLimit:
      return lift(state.projects.at(reason.subject).limits, reason.resource);
    case ReasonKind::kDomainLimit:
      return lift(state.domains.at(reason.subject).limits, reason.resource);
    case ReasonKind::kUserLimit:
      return lift_user(state, reason.subject, reason.resource);
    case ReasonKind::kClusterLimit:
      return raise(state.settings.countables, reason.resource, reason.used + reason.needs);
    case ReasonKind::kPoolClosed:
      state.pools.at(reason.subject).open = true;
      return;
    case ReasonKind::kTimeLimit:
      state.pools.at(reason.subject).time_limit_max = {};
      return;
    case ReasonKind::kResources:
      for (Node* node : nodes_of_pool(state, *job.spec)) free_all(state, *node, reason.resource);
      return;
    case ReasonKind::kNeverFits:
      return never_fits(state, id, reason);
    case ReasonKind::kNodesUnavailable:
      return bring_back_nodes(state, *job.spec);
    case ReasonKind::kExcluded:
      OwnSpec(state, id)->nodes_wanted.clear();
      OwnSpec(state, id)->nodes_excluded.clear();
      return;
    case ReasonKind::kDomain:
      OwnSpec(state, id)->domain.clear();
      return;
    case ReasonKind::kLabels:
      OwnSpec(state, id)->label.clear();
      OwnSpec(state, id)->near_labels.clear();
      OwnSpec(state, id)->apart_labels.clear();
      return;
    case ReasonKind::kReserved:
      state.reservations.erase(reason.subject);
      return;
    case ReasonKind::kReservation:
      OwnSpec(state, id)->reservation.clear();
      return;
    case ReasonKind::kExecutor:
      OwnSpec(state, id)->executor.clear();
      return;
    case ReasonKind::kPromised:
      state.promises.clear();
      return;
    case ReasonKind::kAhead:
    case ReasonKind::kFragmented:
    case ReasonKind::kNoPlan:
    case ReasonKind::kPreemption:
    case ReasonKind::kForeign:
      return;
  }
}

}  // namespace dove::sim
