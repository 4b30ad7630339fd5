// The fields of what begins a session and keeps it going. Include only from .cc files.
#pragma once

#include <algorithm>
#include <array>

#include "protocol/archive.h"
#include "protocol/reports_fields.h"
#include "protocol/session.h"

namespace dove::protocol {

inline constexpr std::size_t kHeldMax = 100'000;
inline constexpr std::size_t kImages_max = 256;
inline constexpr std::size_t kName_bytes = 256;
inline constexpr std::size_t kVersion_bytes = 64;
inline constexpr std::size_t kDigest_bytes = 64;  // of SHA-256, in hexadecimal
inline constexpr std::int64_t kSyncAfterMax_us = 60'000'000;
inline constexpr std::array<std::string_view, 3> kStages{"prepared", "started", "ended"};

inline std::span<const std::string_view> words_of(ActiveStage) { return kStages; }

template <class Ar>
void machine_fields(Ar& ar, typename Ar::template Of<Machine>& v) {
  ar.text("boot_id", v.boot_id, kName_bytes);
  ar.text("address", v.address, kName_bytes);
  ar.cut("version", v.version, kVersion_bytes);
  ar.cut("machine_id", v.machine_id, kName_bytes);
  ar.cut("former_boot_id", v.former_boot_id, kName_bytes);
  ar.may("epoch_seen", v.epoch_seen);
  ar.may("log_head_seen", v.log_head_seen);
  ar.cut("head_proof", v.head_proof, kName_bytes);
  ar.must("inventory", v.inventory);
  if constexpr (Ar::kReads) {
    if (v.boot_id.empty()) ar.fail("boot_id", "is missing");
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Join>& v) {
  ar.must("protocol", v.protocol);
  ar.must("name", v.name);
  ar.text("key", v.key, kDigest_bytes);
  machine_fields(ar, v.machine);
  if constexpr (Ar::kReads) {
    const bool is_digest = v.key.size() == kDigest_bytes &&
                           v.key.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!v.key.empty() && !is_digest) ar.fail("key", "is no SHA-256 in hexadecimal");
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JoinAnswer>& v) {
  ar.may("node", v.node);
  ar.must("agent_token", v.agent_token);
  ar.may("cluster", v.cluster);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ActivePlacement>& v) {
  fields(ar, v.key);
  ar.must("stage", v.stage);
  ar.may("exits", v.exits);
  ar.cut("launch_failed", v.launch_failed, kWhy_bytes);
  ar.may("cpu_us", v.cpu_us);
  ar.may("memory_peak_bytes", v.memory_peak_bytes);
  ar.clamped("started_ago_us", v.started_ago_us, 0, kYear_us);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<StepKey>& v) {
  ar.must("job", v.job);
  ar.must("attempt", v.attempt);
  ar.must("step", v.step);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ContainerOffer>& v) {
  ar.may("pulls", v.pulls);
  ar.may("names_all", v.names_all);
  ar.list("images", v.images, kImages_max);
  if constexpr (Ar::kReads) {
    const auto is_long = [](const std::string& name) { return name.size() > kName_bytes; };
    if (std::erase_if(v.images, is_long) > 0) v.names_all = false;
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Offer>& v) {
  ar.must("limits_memory", v.limits_memory);
  ar.may("containers", v.containers);
  ar.may("gives_secrets", v.gives_secrets);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Sync>& v) {
  ar.must("protocol", v.protocol);
  ar.may("ticket", v.ticket);
  ar.may("agent_pid", v.agent_pid);
  ar.clamped("preflight_port", v.preflight_port, 0, 65'535);
  ar.cut("not_enforced", v.not_enforced, kNotEnforced_bytes);
  ar.may("offers", v.offer);
  machine_fields(ar, v.machine);
  ar.list("placements", v.placements, kHeldMax);
  ar.list("steps", v.steps, kHeldMax);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<SyncAnswer>& v) {
  if (!Ar::kReads && !v.ticket.empty()) {
    ar.must("ticket", v.ticket);
    ar.must("epoch", v.epoch);
    ar.may("waits_us", v.waits_us);
    if (v.sync_after_us > 0) ar.may("sync_after_us", v.sync_after_us);
    return;
  }
  ar.may("ticket", v.ticket);
  if (!v.ticket.empty()) {
    ar.may("epoch", v.epoch);
    ar.may("waits_us", v.waits_us);
    if constexpr (Ar::kReads) {
      if (v.waits_us) v.waits_us = std::clamp<std::int64_t>(*v.waits_us, 0, kYear_us);
    }
    return ar.clamped("sync_after_us", v.sync_after_us, 0, kSyncAfterMax_us);
  }
  ar.must("session", v.session);
  ar.must("epoch", v.epoch);
  ar.may("log_head", v.log_head);
  ar.may("proof", v.proof);
  ar.must("after", v.after);
  ar.must("fence_us", v.fence_us);
  ar.must("disconnect_grace_us", v.disconnect_grace_us);
  ar.must("outage_grace_us", v.outage_grace_us);
  ar.must("heartbeat_us", v.heartbeat_us);
  ar.may("cluster", v.cluster);
  ar.may("cluster_id", v.cluster_id);
  ar.lines("orders", v.orders);
  ar.may("forget", v.forget);
  if (Ar::kReads || !v.expelled.empty()) ar.may("expelled", v.expelled);
}

// The ends of single tasks stand apart: a controller of a former version, which may lead again
// while agents are newer, ignores this field, but would refuse a kind of event that it does not
// know. They are read before the events, as none comes after its step's end.
template <class Ar>
void report_fields(Ar& ar, typename Ar::template Of<std::vector<Report>>& reports) {
  std::vector<StepTaskOver> exits;
  if constexpr (Ar::kReads) {
    ar.may("events", reports);
    ar.may("step_exits", exits);
    reports.insert(reports.begin(), exits.begin(), exits.end());
  } else {
    std::vector<Report> events;
    for (const Report& report : reports) {
      if (const auto* exit = std::get_if<StepTaskOver>(&report)) {
        exits.push_back(*exit);
      } else {
        events.push_back(report);
      }
    }
    ar.may("events", events);
    if (!exits.empty()) ar.may("step_exits", exits);
  }
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ReportMessage>& v) {
  ar.must("session", v.session);
  ar.must("report", v.number);
  ar.may("applied", v.applied);
  ar.may("epoch_seen", v.epoch_seen);
  ar.may("log_head_seen", v.log_head_seen);
  ar.may("placements_hash", v.placements_hash);
  ar.may("inventory", v.inventory);
  ar.may("not_enforced", v.not_enforced);
  ar.may("offers", v.offer);
  report_fields(ar, v.reports);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ReportAnswer>& v) {
  ar.may("acked", v.acked);
  ar.may("log_head", v.log_head);
  ar.may("epoch", v.epoch);
  ar.may("proof", v.proof);
  ar.may("now_us", v.now_us);
  ar.may("resync", v.resync);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<GivenSecret>& v) {
  ar.may("variable", v.variable);
  ar.may("file", v.file);
  ar.must("value", v.value);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<GivenSecrets>& v) {
  ar.must("secrets", v.secrets);
}

}  // namespace dove::protocol
