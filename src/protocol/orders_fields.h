// The fields of orders. Include only from .cc files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "model/job_fields.h"
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

// A job's brief by the list of its fields (model/job_fields.h), those of some layouts: spans in
// microseconds, and no empty list of secrets.
template <class Ar>
class BriefFields {
 public:
  template <class T>
  using Of = typename Ar::template Of<T>;

  BriefFields(Ar& ar, std::uint64_t first, std::uint64_t last)
      : ar_(ar), first_(first), last_(last) {}
  void all(Of<JobBrief>& brief) { brief_fields(*this, brief); }

  template <class T, class Rule>
  void operator()(std::uint64_t layout, const char* name, T& value, const Rule& /*rule*/) {
    if (layout < first_ || layout > last_) return;
    if constexpr (std::is_same_v<std::remove_const_t<T>, Span>) {
      ar_.may((std::string(name) + "_us").c_str(), value.us);
    } else if constexpr (std::is_same_v<std::remove_const_t<T>, std::vector<SecretUse>>) {
      if (Ar::kReads || !value.empty()) ar_.may(name, value);
    } else {
      ar_.may(name, value);
    }
  }
  template <class T, class Rule>
  void optional(std::uint64_t layout, const char* name, T& value, const Rule& rule) {
    (*this)(layout, name, value, rule);
  }

 private:
  Ar& ar_;
  std::uint64_t first_;
  std::uint64_t last_;
};

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Launch>& v) {
  ar.may("restart_count", v.restart_count);
  ar.may("barrier", v.barrier);
  ar.may("preflight", v.preflight);
  if constexpr (Ar::kReads) ar.must("placement", v.placement);
  ar.must("placements", v.nodes);
  ar.nested("spec", [&v](Ar& spec) {
    BriefFields(spec, 1, 4).all(v);
    spec.may("array", v.array);
    spec.may("array_index", v.array_index);
    spec.may("tasks", v.tasks);
    spec.may("cpus_per_task", v.cpus_per_task);
    spec.may("group_names", v.group_names);
    BriefFields(spec, 5, kJobLayout).all(v);
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
