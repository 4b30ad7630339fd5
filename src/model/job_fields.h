// The fields of a job, listed once: for the bytes of the log, for the hash of the state, and for
// JSON as it is written and as it is read.
//
// To add one: append a line to the list, with the layout that the next release brings, the name
// that JSON has for it, and what a submission may say. An archive gets each line as
// `ar(layout, name, value, rule)`; `ar.optional` is left out of JSON where it says nothing. The
// order is that of the bytes, and stays for ever.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "model/field_rules.h"
#include "model/job.h"

namespace dove {

// The level at which the hash of the state came to know the fields of each layout, from 1 on.
constexpr std::array<int, 5> kJobHashLevels{0, 0, 3, 9, 10};
constexpr std::uint64_t kJobLayout = kJobHashLevels.size();

constexpr std::int64_t kPriorityMax = 1'000'000'000;
constexpr std::int64_t kRetriesMax = 1'000'000;
constexpr std::int64_t kSignalMax = 64;
constexpr std::size_t kFeaturesMax = 64;
constexpr TextRule kFeatureRule{64, TextRule::Kind::kFeature};
constexpr TextRule kWishRule{256, TextRule::Kind::kFeatures};
constexpr std::size_t kJobLabelsMax = 64;
constexpr std::size_t kNodesListedMax = 10'000;

// `V` is a JobSpec or a JobBrief.
template <class Ar, class V>
void listed_fields(Ar& ar, V& v) {
  constexpr bool kWhole = std::is_same_v<std::remove_const_t<V>, JobSpec>;
  constexpr TextRule kLabel{64, TextRule::Kind::kName};
  constexpr TextRule kWord{64, TextRule::Kind::kLine};
  constexpr TextRule kOptionalName{256, TextRule::Kind::kLine};
  ar(1, "name", v.name, field::Text{kNameRule});
  ar(1, "user", v.user, field::Shown{});
  ar(1, "project", v.project, field::Text{kOptionalName});
  ar(1, "queue", v.queue, field::Text{kNameRule});
  ar(1, "pool", v.pool, field::Text{kOptionalName});
  if constexpr (kWhole) {
    ar(1, "priority", v.priority, field::Within{-kPriorityMax, kPriorityMax});
  }
  ar(1, "launch", v.launch, field::Shown{});  // what is run says it
  if constexpr (kWhole) {
    ar(1, "groups", v.groups, field::Plain{});
    ar.optional(1, "cluster_requests", v.cluster_requests, field::Plain{});
  }
  ar(1, "time_limit", v.time_limit, field::Plain{});
  ar(1, "kill_grace", v.kill_grace, field::Plain{});
  if constexpr (kWhole) {
    ar.optional(1, "begin_at", v.begin_at, field::Plain{});
    ar(1, "dependencies", v.dependencies, field::Plain{});
    ar(1, "any_dependency", v.any_dependency, field::Plain{});
    ar.optional(1, "array", v.array, field::Plain{});
    ar(1, "retries_max", v.retries_max, field::Within{0, kRetriesMax});
    ar(1, "requeue", v.requeue, field::Plain{});
    ar(1, "hold", v.hold, field::Plain{});
    ar(1, "exclusive", v.exclusive, field::Plain{});
    ar(1, "features", v.features, field::Texts{kWishRule, kFeaturesMax});
    ar(1, "nodes_wanted", v.nodes_wanted, field::Texts{kNameRule, kNodesListedMax});
    ar(1, "nodes_excluded", v.nodes_excluded, field::Texts{kNameRule, kNodesListedMax});
    ar(1, "exec_digest", v.exec_digest, field::Kept{});
    ar.optional(2, "preempt", v.preempt, field::Plain{});
  }
  ar.optional(2, "checkpoint_signal", v.checkpoint_signal, field::Within{0, kSignalMax});
  ar.optional(2, "checkpoint_grace", v.checkpoint_grace, field::Plain{});
  if constexpr (kWhole) {
    ar.optional(2, "slice_min", v.slice_min, field::Plain{});
    ar.optional(2, "deadline", v.deadline, field::Plain{});
    ar.optional(2, "reservation", v.reservation, field::Text{kOptionalName});
    ar.optional(2, "spread", v.spread, field::Plain{});
    ar.optional(2, "domain", v.domain, field::Text{kWord});
    ar.optional(2, "domain_required", v.domain_required, field::Plain{});
    ar.optional(2, "label", v.label, field::Text{kWord});
    ar.optional(2, "near_labels", v.near_labels, field::Texts{kLabel, kJobLabelsMax});
    ar.optional(2, "apart_labels", v.apart_labels, field::Texts{kLabel, kJobLabelsMax});
    ar.optional(3, "parent", v.parent, field::Kept{});
    ar.optional(4, "executor", v.executor, field::Text{kOptionalName});
    ar.optional(4, "foreign_job", v.foreign_job, field::Shown{});
    ar.optional(4, "mail_about", v.mail_about, field::Plain{});
    ar.optional(4, "mail_to", v.mail_to, field::Text{});
  }
  ar.optional(5, "secrets", v.secrets, field::Plain{});
}

template <class Ar>
void job_fields(Ar& ar, typename Ar::template Of<JobSpec>& v) {
  listed_fields(ar, v);
}

template <class Ar>
void brief_fields(Ar& ar, typename Ar::template Of<JobBrief>& v) {
  listed_fields(ar, v);
}

}  // namespace dove
