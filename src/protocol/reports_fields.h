// The fields of reports, and the word for each kind. Include only from .cc files.
#pragma once

#include <array>

#include "protocol/archive.h"
#include "protocol/reports.h"

namespace dove::protocol {

inline constexpr std::size_t kWhy_bytes = 4096;
inline constexpr std::size_t kEvidence_bytes = 1024;
inline constexpr std::size_t kCheck_bytes = 64;
inline constexpr std::size_t kPhase_bytes = 24;
inline constexpr std::size_t kWarningsMax = 16;
inline constexpr std::size_t kDevicesMax = 1024;           // of a node, as in its inventory
inline constexpr std::int32_t kWhole_hundredths = 10'000;  // of a percent
inline constexpr std::int64_t kYear_us = 366LL * 24 * 3600 * 1'000'000;
// The most that a step's number or duration (microseconds) counts as: 10 000 times that is still a
// 64-bit number.
inline constexpr std::int64_t kProgressMax = std::int64_t{1} << 49;

// In the order of Report's types.
inline constexpr std::array<std::string_view, std::variant_size_v<Report>> kReportKinds{
    "prepared",   "started",          "task_ended", "ended",          "launch_failed", "refused",
    "step_ended", "preflight_failed", "progress",   "shares",         "warnings",      "finding",
    "tested",     "remedy_ended",     "use",        "step_task_ended"};

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Prepared>& v) {
  fields(ar, v.key);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Started>& v) {
  fields(ar, v.key);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TaskOver>& v) {
  fields(ar, v.key);
  ar.must("exit", v.exit);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Ended>& v) {
  fields(ar, v.key);
  ar.may("exits", v.exits);
  ar.may("cpu_us", v.cpu_us);
  ar.may("memory_peak_bytes", v.memory_peak_bytes);
  ar.clamped("started_ago_us", v.started_ago_us, 0, kYear_us);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LaunchRefused>& v) {
  fields(ar, v.key);
  ar.cut("why", v.why, kWhy_bytes);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<OrderRefused>& v) {
  fields(ar, v.key);
  ar.cut("why", v.why, kWhy_bytes);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<StepOver>& v) {
  fields(ar, v.key);
  ar.must("step", v.step);
  ar.may("exits", v.exits);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<StepTaskOver>& v) {
  fields(ar, v.key);
  ar.must("step", v.step);
  ar.must("exit", v.exit);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PreflightOver>& v) {
  fields(ar, v.key);
  ar.may("peer", v.peer);
  ar.must("check", v.check);
  ar.cut("evidence", v.evidence, kEvidence_bytes);
  if constexpr (Ar::kReads) v.check.resize(std::min(v.check.size(), kCheck_bytes));
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<RankProgress>& v) {
  ar.must("rank", v.rank);
  ar.clamped("step", v.step, 0, kProgressMax);
  ar.clamped("step_us", v.step_us, 0, kProgressMax);
  ar.clamped("busy_us", v.busy_us, 0, kProgressMax);
  if (Ar::kReads || v.samples > 0) ar.clamped("samples", v.samples, 0, kProgressMax);
  ar.may("loss", v.loss);
  if (Ar::kReads || !v.phase.empty()) ar.cut("phase", v.phase, kPhase_bytes);
  if (Ar::kReads || !v.blamed.empty()) ar.may("blamed", v.blamed);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Progress>& v) {
  fields(ar, v.key);
  ar.must("ranks", v.ranks);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Shares>& v) {
  fields(ar, v.key);
  ar.must("keeper", v.keeper);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Warnings>& v) {
  fields(ar, v.key);
  ar.must("warnings", v.texts);
  if constexpr (Ar::kReads) {
    if (v.texts.size() > kWarningsMax) v.texts.resize(kWarningsMax);
    for (std::string& text : v.texts) text.resize(std::min(text.size(), kEvidence_bytes));
  }
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<DeviceUse>& v) {
  ar.must("device", v.device);
  ar.must("use", v.use);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Use>& v) {
  fields(ar, v.key);
  ar.clamped("span_us", v.span_us, 1, kYear_us);
  ar.may("gpu", v.gpu);
  ar.may("gpu_memory", v.gpu_memory);
  ar.may("cpu", v.cpu);
  if (Ar::kReads || v.in_use) ar.may("in_use", v.in_use);
  if (Ar::kReads || v.app_told) ar.may("app_told", v.app_told);
  ar.may("unused_us", v.unused_us);
  if (Ar::kReads || !v.devices.empty()) ar.may("devices", v.devices);
  if constexpr (Ar::kReads) {
    if (v.devices.size() > kDevicesMax) v.devices.resize(kDevicesMax);
    for (DeviceUse& one : v.devices) {
      one.device = std::clamp(one.device, 0, static_cast<std::int32_t>(kDevicesMax) - 1);
      one.use = std::clamp(one.use, 0, kWhole_hundredths);
    }
    for (auto* part : {&v.gpu, &v.gpu_memory, &v.cpu}) {
      if (*part) *part = std::clamp(**part, 0, kWhole_hundredths);
    }
    if (v.unused_us) v.unused_us = std::clamp<std::int64_t>(*v.unused_us, 0, kYear_us);
  }
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<FindingSaid>& v) {
  if constexpr (Ar::kReads) return ar.whole(v.finding);  // strictly, as monitors send them
  ar.must("check", v.finding.check);
  ar.may("severity", v.finding.severity);
  ar.may("remedy", v.finding.remedy);
  ar.may("device", v.finding.device);
  ar.may("evidence", v.finding.evidence);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Tested>& v) {
  ar.must("passed", v.passed);
  ar.cut("evidence", v.evidence, kEvidence_bytes);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<RemedyOver>& v) {
  ar.must("remedy", v.remedy);
  ar.must("done", v.done);
  ar.cut("why", v.why, kEvidence_bytes);
}

// A report is an object whose "kind" says which fields it has.
inline void fields(Writer& ar, const Report& report) {
  ar.must("kind", kReportKinds[report.index()]);
  std::visit([&ar](const auto& said) { fields(ar, said); }, report);
}

template <std::size_t I = 0>
void read_kind(Reader& ar, const std::string& kind, Report& report) {
  if constexpr (I == std::variant_size_v<Report>) {
    ar.fail("kind", "is a word that is not known here");
  } else if (kind == kReportKinds[I]) {
    fields(ar, report.emplace<I>());
  } else {
    read_kind<I + 1>(ar, kind, report);
  }
}

inline void fields(Reader& ar, Report& report) {
  std::string kind;
  ar.must("kind", kind);
  if (!ar.failed()) read_kind(ar, kind, report);
}

}  // namespace dove::protocol
