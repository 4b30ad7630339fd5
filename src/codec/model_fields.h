// The nouns of model as bytes: one fields() each, for both directions (codec/bytes.h).
//
// Shared by records and snapshots. To add a field: raise the noun's layout by one and append
// `ar.since(N, value.field)` at the end of its list. Nouns without a layout are closed: a new field
// of Request belongs to the layouts of JobSpec and TaskGroup, which hold it.
#pragma once

#include <memory>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "codec/bytes.h"
#include "codec/enum_bounds.h"
#include "model/declared.h"
#include "model/health.h"
#include "model/job.h"
#include "model/job_fields.h"
#include "model/key.h"
#include "model/node.h"
#include "model/placement.h"
#include "model/resources.h"

namespace dove::codec {

// -- resources and jobs --------------------------------------------------------------------------

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Countable>& v) {
  ar(v.name, v.amount);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Request>& v) {
  ar(v.cores, v.memory_bytes, v.gpus, v.share_milli, v.gpu_model, v.gpu_memory_bytes, v.countables);
  ar.since(2, v.slice);
  ar.since(2, v.slices);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TaskGroup>& v) {
  auto layout = ar.layout(3, "TaskGroup");
  ar(v.name, v.tasks, v.nodes_min, v.nodes_max, v.tasks_per_node, v.per_task, v.per_node);
  ar.since(3, v.affinity);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Dependency>& v) {
  ar(v.kind, v.job, v.delay);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ArraySpec>& v) {
  ar(v.indices, v.running_max);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SecretUse>& v) {
  ar(v.secret, v.variable, v.file);
}

// A list of fields (model/job_fields.h) as bytes.
template <class Ar>
class ListedBytes {
 public:
  template <class T>
  using Of = typename Ar::template Of<T>;

  explicit ListedBytes(Ar& ar) : ar_(ar) {}
  template <class T, class Rule>
  void operator()(std::uint64_t layout, std::string_view /*name*/, T& value, const Rule& /*rule*/) {
    ar_.since(layout, value);
  }
  template <class T, class Rule>
  void optional(std::uint64_t layout, std::string_view name, T& value, const Rule& rule) {
    (*this)(layout, name, value, rule);
  }

 private:
  Ar& ar_;
};

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobSpec>& v) {
  auto layout = ar.layout(kJobLayout, "JobSpec");
  ListedBytes<Ar> listed(ar);
  job_fields(listed, v);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TaskExit>& v) {
  auto layout = ar.layout(1, "TaskExit");
  ar(v.rank, v.exit_code, v.signal, v.cause);
}

// -- nodes and placements ------------------------------------------------------------------------

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Device>& v) {
  ar(v.kind, v.vendor, v.model, v.uuid, v.memory_bytes, v.numa_node);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Link>& v) {
  ar(v.device_a, v.device_b, v.kind);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NumaNode>& v) {
  ar(v.cores, v.memory_bytes);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Inventory>& v) {
  auto layout = ar.layout(3, "Inventory");
  ar(v.numa, v.devices, v.links, v.countables, v.memory_bytes);
  ar.since(2, v.has_overlay);
  ar.since(3, v.thread_order);
  ar.since(3, v.threads_per_core);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SlicePlace>& v) {
  ar(v.start, v.size, v.compute);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<DeviceGrant>& v) {
  ar(v.device, v.share_milli);
  ar.since(2, v.slice);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TaskGrant>& v) {
  ar(v.rank, v.group, v.local_rank, v.cores, v.devices);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Placement>& v) {
  auto layout = ar.layout(2, "Placement");
  ar(v.node, v.node_rank, v.cores, v.devices, v.memory_bytes, v.countables, v.tasks);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SharedPlacement>& v) {
  if constexpr (Ar::kReads) {
    Placement placement;
    ar(placement);
    v = std::move(placement);
  } else {
    ar(*v);
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Finding>& v) {
  auto layout = ar.layout(1, "Finding");
  ar(v.check, v.severity, v.remedy, v.device, v.evidence);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeRequest>& v) {
  auto layout = ar.layout(1, "NodeRequest");
  ar(v.action, v.now, v.by, v.why, v.who);
}

// -- what is declared ----------------------------------------------------------------------------

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobLimits>& v) {
  auto layout = ar.layout(1, "JobLimits");
  ar(v.nodes, v.cores, v.gpus_milli, v.memory_bytes, v.time_limit);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Limits>& v) {
  auto layout = ar.layout(3, "Limits");
  ar(v.jobs_running, v.jobs_waiting, v.cores, v.gpus_milli, v.memory_bytes, v.countables);
  ar.since(2, v.gpus_by_model);
  ar.since(3, v.gpu_ms_month);
  ar.since(3, v.job);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Quota>& v) {
  auto layout = ar.layout(1, "Quota");
  ar(v.cores, v.gpus_milli, v.memory_bytes, v.countables, v.gpus_by_model);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TopologyUnit>& v) {
  ar(v.level, v.name);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Pool>& v) {
  auto layout = ar.layout(6, "Pool");
  ar(v.name, v.nodes, v.is_default, v.time_limit_default, v.time_limit_max, v.open);
  ar.since(2, v.users);
  ar.since(2, v.projects);
  ar.since(2, v.domains);
  ar.since(3, v.run_as);
  ar.since(3, v.preflight);
  ar.since(4, v.exclusive);
  ar.since(5, v.affinity);
  ar.since(6, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<QueueWeights>& v) {
  auto layout = ar.layout(1, "QueueWeights");
  ar(v.cores, v.gpus, v.memory);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Queue>& v) {
  auto layout = ar.layout(4, "Queue");
  ar(v.name, v.priority, v.limits, v.open);
  ar.since(2, v.parent);
  ar.since(2, v.guaranteed);
  ar.since(2, v.weight);
  ar.since(2, v.band);
  ar.since(2, v.order);
  ar.since(2, v.promises);
  ar.since(3, v.weights);
  ar.since(4, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeDeclaration>& v) {
  auto layout = ar.layout(3, "NodeDeclaration");
  ar(v.name, v.drained, v.drain_reason, v.features, v.countables, v.cores_reserved,
     v.memory_reserved_bytes);
  ar.since(2, v.topology);
  ar.since(3, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<UserLimit>& v) {
  auto layout = ar.layout(2, "UserLimit");
  ar(v.name, v.limits);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NoticeTarget>& v) {
  auto layout = ar.layout(1, "NoticeTarget");
  ar(v.by, v.to, v.about);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<UserDeclaration>& v) {
  auto layout = ar.layout(7, "UserDeclaration");
  ar(v.name, v.linux_user, v.admin, v.token_sha256);
  ar.since(2, v.domain);
  ar.since(3, v.disabled);
  ar.since(3, v.service_of);
  ar.since(4, v.identity);
  ar.since(5, v.ssh_keys);
  ar.since(5, v.notices);
  ar.since(6, v.password_hash);
  ar.since(6, v.token_expires_at);
  ar.since(7, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Domain>& v) {
  auto layout = ar.layout(3, "Domain");
  ar(v.name, v.title);
  ar.since(2, v.limits);
  ar.since(3, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Group>& v) {
  auto layout = ar.layout(2, "Group");
  ar(v.name, v.domain, v.users, v.groups);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Binding>& v) {
  auto layout = ar.layout(2, "Binding");
  ar(v.name, v.role, v.domain, v.project, v.users, v.groups);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Project>& v) {
  auto layout = ar.layout(2, "Project");
  ar(v.name, v.domain, v.users, v.limits);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Key>& v) {
  auto layout = ar.layout(2, "Key");
  ar(v.id, v.user, v.name, v.scope, v.issued_at, v.expires_at);
  ar.since(2, v.kind);
  ar.since(2, v.is_administrators);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Reservation>& v) {
  auto layout = ar.layout(3, "Reservation");
  ar(v.name, v.nodes, v.starts_at, v.ends_at, v.outage, v.users, v.projects);
  ar.since(2, v.spares_for);
  ar.since(3, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Lendable>& v) {
  auto layout = ar.layout(1, "Lendable");
  ar(v.nodes, v.devices, v.cores, v.memory_bytes);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Executor>& v) {
  auto layout = ar.layout(5, "Executor");
  ar(v.name, v.service_account, v.nodes, v.placeholders, v.queues);
  ar.since(2, v.gate);
  ar.since(2, v.runs_jobs);
  ar.since(2, v.lendable);
  ar.since(3, v.preempts);
  ar.since(4, v.yields_to);
  ar.since(5, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<IdleRule>& v) {
  auto layout = ar.layout(3, "IdleRule");
  ar(v.name, v.users, v.projects, v.exempt, v.sessions_only, v.no_input_for, v.window,
     v.gpu_percent, v.gpu_memory_percent, v.cpu_percent, v.any, v.lifetime, v.grace, v.warning);
  ar.since(2, v.apps);
  ar.since(3, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<App>& v) {
  auto layout = ar.layout(2, "App");
  ar(v.name, v.title, v.domain, v.project, v.job);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Settings>& v) {
  auto layout = ar.layout(2, "Settings");
  ar(v.name, v.domain, v.project, v.job, v.locked);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Secret>& v) {
  auto layout = ar.layout(2, "Secret");
  ar(v.name, v.user, v.project, v.sealed, v.set_at);
  ar.since(2, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<BootConfig>& v) {
  auto layout = ar.layout(1, "BootConfig");
  ar(v.name, v.nodes, v.controller, v.kernel, v.initrd, v.arguments, v.image, v.image_sha256,
     v.from, v.from_root, v.secret_sha256, v.token_lifetime, v.labels);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForeignAllocation>& v) {
  auto layout = ar.layout(2, "ForeignAllocation");
  ar(v.id, v.cores, v.devices, v.memory_bytes, v.user, v.account, v.name, v.partition, v.priority,
     v.started_at, v.ends_by);
  ar.since(2, v.may_requeue);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForeignUse>& v) {
  auto layout = ar.layout(1, "ForeignUse");
  ar(v.id, v.account, v.from, v.to, v.cores, v.gpus_milli, v.memory_bytes);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<MultifactorWeights>& v) {
  auto layout = ar.layout(1, "MultifactorWeights");
  ar(v.age, v.age_span, v.fair_share, v.size, v.priority, v.queue_priority);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ClusterSettings>& v) {
  auto layout = ar.layout(10, "ClusterSettings");
  ar(v.name, v.fence, v.disconnect_grace, v.silent_after, v.effect_deadline, v.array_max,
     v.jobs_max, v.ended_jobs_kept, v.ended_jobs_max, v.countables);
  ar.since(2, v.order);
  ar.since(2, v.fair_share_half_life);
  ar.since(2, v.preemption);
  ar.since(3, v.requeues_max);
  ar.since(4, v.max_unavailable);
  ar.since(4, v.node_tests);
  ar.since(4, v.preflight);
  ar.since(4, v.lemon_faults);
  ar.since(4, v.lemon_window);
  ar.since(5, v.placement);
  ar.since(6, v.hang_after);
  ar.since(6, v.on_hang);
  ar.since(6, v.slow_percent);
  ar.since(6, v.slow_reports);
  ar.since(7, v.outage_grace);
  ar.since(8, v.job_visibility);
  ar.since(9, v.affinity);
  ar.since(9, v.job_link_votes);
  ar.since(9, v.multifactor);
  ar.since(10, v.labels);
}

// Alternatives are numbered by their place in Declared: new ones go to its end.
template <std::size_t I = 0>
void read_alternative(ByteReader& ar, std::uint64_t index, Declared& v) {
  if constexpr (I == std::variant_size_v<Declared::Kinds>) {
    ar.fail("a declared object is of an unknown kind");
  } else {
    if (index != I) return read_alternative<I + 1>(ar, index, v);
    fields(ar, v.emplace<I>());
  }
}
inline void fields(ByteReader& ar, Declared& v) {
  const std::uint64_t index = ar.varint();
  read_alternative(ar, index, v);
}
inline void fields(ByteWriter& ar, const Declared& v) {
  ar.varint(v.index());
  std::visit([&](const auto& object) { fields(ar, object); }, v);
}

// Shared nouns are always there.
template <class T>
void fields(ByteReader& ar, std::shared_ptr<const T>& v) {
  auto made = std::make_shared<T>();
  fields(ar, *made);
  v = std::move(made);
}
template <class T>
void fields(ByteWriter& ar, const std::shared_ptr<const T>& v) {
  CHECK(v != nullptr, "a record without the noun it carries");
  fields(ar, *v);
}

}  // namespace dove::codec
