// The fields of orders. Include only from .cc files.
#pragma once

#include <array>

#include "protocol/archive.h"
#include "protocol/orders.h"

namespace dove::protocol {

inline constexpr std::array<std::string_view, 5> kOrderKinds{"launch", "start", "stop", "test",
                                                             "remedy"};
inline std::span<const std::string_view> words_of(OrderKind) { return kOrderKinds; }

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Order>& v) {
  ar.may("seq", v.seq);
  ar.may("epoch", v.epoch);
  ar.may("proof", v.proof);
  ar.must("order", v.kind);
  fields(ar, v.key);
  if (Ar::kReads || v.kind == OrderKind::kStop) {
    ar.may("reason", v.reason);
    if (Ar::kReads || v.after_ms > 0) ar.may("after_ms", v.after_ms);
  }
  if (Ar::kReads || v.kind == OrderKind::kRemedy) ar.may("remedy", v.remedy);
  if (v.kind == OrderKind::kStart) ar.may("placement", v.placement);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PeerNode>& v) {
  ar.must("node", v.name);
  ar.may("address", v.address);
  ar.must("node_rank", v.node_rank);
  ar.must("ranks", v.ranks);
  ar.may("cores", v.cores);
  ar.may("preflight_port", v.preflight_port);
  ar.may("devices", v.devices);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SecretUse>& v) {
  ar.must("secret", v.secret);
  ar.may("variable", v.variable);
  ar.may("file", v.file);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Launch>& v) {
  ar.may("restart_count", v.restart_count);
  ar.may("barrier", v.barrier);
  ar.may("preflight", v.preflight);
  if constexpr (Ar::kReads) ar.must("placement", v.placement);
  ar.must("placements", v.nodes);
  ar.nested("spec", [&v](Ar& spec) {
    spec.may("name", v.job_name);
    spec.may("user", v.user);
    spec.may("project", v.project);
    spec.may("queue", v.queue);
    spec.may("pool", v.pool);
    spec.may("launch", v.launch);
    spec.may("time_limit_us", v.time_limit_us);
    spec.may("kill_grace_us", v.kill_grace_us);
    spec.may("checkpoint_signal", v.checkpoint_signal);
    spec.may("checkpoint_grace_us", v.checkpoint_grace_us);
    spec.may("array", v.array);
    spec.may("array_index", v.array_index);
    spec.may("tasks", v.tasks);
    spec.may("cpus_per_task", v.cpus_per_task);
    spec.may("group_names", v.group_names);
    if (Ar::kReads || !v.secrets.empty()) spec.may("secrets", v.secrets);
  });
  if constexpr (Ar::kReads) {
    ar.must("exec", v.exec);
  } else {
    ar.must("exec", RawJson{v.exec_blob == nullptr ? "null" : *v.exec_blob});
  }
  ar.may("linux_user", v.linux_user);
  ar.may("run_as", v.run_as);
  ar.may("job_token", v.job_token);
}

}  // namespace dove::protocol
