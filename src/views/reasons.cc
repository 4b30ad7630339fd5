#include "views/reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "codec/json.h"
#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"
#include "core/place/cannot_start.h"
#include "core/place/domain.h"
#include "core/place/limits.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"
#include "core/state/holders/month_use.h"
#include "model/huge_pages.h"
#include "model/resource_names.h"

namespace dove::views {
namespace {

using codec::Json;
using codec::put_instant;

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Thousandths of devices: "2 GPUs", "0.5 GPU".
std::string gpus_text(std::int64_t milli) {
  if (milli % kWholeDevice_milli == 0) return counted(milli / kWholeDevice_milli, "GPU", "GPUs");
  std::string fraction = fmt::format("{:03}", milli % kWholeDevice_milli);
  while (fraction.back() == '0') fraction.pop_back();
  return fmt::format("{}.{} GPU", milli / kWholeDevice_milli, fraction);
}

// "16 GPUs", "64 GiB of memory", "2 licence:matlab".
std::string amount(const std::string& resource, std::int64_t value) {
  if (resource == "cores") return counted(value, "core", "cores");
  if (resource == "gpus") return counted(value, "GPU", "GPUs");
  if (resource == "nodes") return counted(value, "node", "nodes");
  if (resource == "share_milli" || resource == "gpus_milli") return gpus_text(value);
  if (resource.starts_with(kByModel)) {
    return fmt::format("{} of model {}", gpus_text(value), resource.substr(kByModel.size()));
  }
  if (resource == "jobs") return counted(value, "job", "jobs");
  if (resource == "memory_bytes") return codec::human_bytes(value) + " of memory";
  if (resource == "gpu_memory_bytes") return codec::human_bytes(value) + " of GPU memory";
  if (resource == "jobs_running") return counted(value, "running job", "running jobs");
  if (resource == "jobs_waiting") return counted(value, "waiting job", "waiting jobs");
  if (resource.starts_with("slice:")) {
    return fmt::format("{} {}", counted(value, "slice", "slices"), resource.substr(6));
  }
  if (resource.empty()) return std::to_string(value);
  const char* of = huge_page_bytes(resource) > 0 ? "of " : "";
  return fmt::format("{} {}{}", codec::human_amount(resource, value), of, resource);
}

// The same without the noun, where it was named just before.
std::string bare(const std::string& resource, std::int64_t value) {
  if (resource == "memory_bytes" || resource == "gpu_memory_bytes")
    return codec::human_bytes(value);
  if (resource == "share_milli" || resource == "gpus_milli") return gpus_text(value);
  if (resource.starts_with(kByModel)) return gpus_text(value);
  return codec::human_amount(resource, value);
}

struct Sight {
  const core::State& state;
  const MayName& may_name;
};

std::string job_text(const Sight& sight, JobId id) {
  const auto found = sight.state.jobs.find(id);
  if (found == sight.state.jobs.end()) return fmt::format("job {}", id.value);
  const JobSpec& spec = *found->second.spec;
  std::string name = sight.may_name(found->second) ? spec.name : "";
  if (!spec.foreign_job.empty()) name = spec.executor + " job " + spec.foreign_job;
  return fmt::format("job {}{}", id.value, name.empty() ? "" : " (" + name + ")");
}

// rfc3339 without the fraction.
std::string to_the_second(Instant instant) {
  std::string text = codec::rfc3339(instant);
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) text.resize(dot);
  std::replace(text.begin(), text.end(), 'T', ' ');
  if (text.ends_with('Z')) text.pop_back();
  return text + " UTC";
}

// "user ann has used 103.5 of 100 GPU hours in November 2026 (UTC), over by 3.5: ...".
std::string month_text(const core::State& state, const Reason& r, std::string_view who) {
  std::string text =
      fmt::format("{} has used {} of {} GPU hours in {} (UTC)", who, core::gpu_hours_text(r.used),
                  core::gpu_hours_text(r.limit), core::month_name(core::month_of(state.now)));
  if (r.used > r.limit) text += fmt::format(", over by {}", core::gpu_hours_text(r.used - r.limit));
  return text + fmt::format(": the month ends {}", to_the_second(r.until));
}

std::string use_text(const core::State& state, const Reason& r, std::string_view who) {
  if (r.resource == "gpu_ms_month") return month_text(state, r, who);
  if (r.resource == "jobs" || r.resource == "jobs_running") {
    return fmt::format("{} may run {} at a time; {} running, this is 1 more, over by {}", who,
                       counted(r.limit, "job", "jobs"), r.used, r.used + 1 - r.limit);
  }
  if (r.resource.starts_with("job_")) {
    const std::string resource = r.resource.substr(4);
    return fmt::format("{} may use {} in one job; this one gets {}, over by {}", who,
                       amount(resource, r.limit), bare(resource, r.needs),
                       bare(resource, r.needs - r.limit));
  }
  std::string text = fmt::format("{} may use {} at once; {} in use", who,
                                 amount(r.resource, r.limit), bare(r.resource, r.used));
  if (r.needs > 0) {
    text += fmt::format(", this job needs {}, over by {}", bare(r.resource, r.needs),
                        bare(r.resource, r.used + r.needs - r.limit));
  }
  return text;
}

std::string limit_text(const core::State& state, const Reason& r) {
  const char* level = core::word(core::holder_of(r));
  return fmt::format("{}; {} may raise it",
                     use_text(state, r, fmt::format("{} {}", level, r.subject)),
                     core::raised_by(state, level, r.subject));
}

std::string resources_text(const Reason& r) {
  if (r.resource == "nodes") {
    return fmt::format("needs {} at once; {} can take it now", amount(r.resource, r.needs), r.free);
  }
  std::string text = fmt::format("needs {} at once; the most that is free on one node is {}",
                                 amount(r.resource, r.needs), bare(r.resource, r.free));
  if (r.total > 0) text += fmt::format(" (the nodes have {})", bare(r.resource, r.total));
  return text;
}

// "s01/r003: 64 GPUs free, 56 can be used; ...".
std::string units_text(const Reason& r) {
  std::string text;
  for (const UnitRoom& room : r.units) {
    text += fmt::format("{}{}: {} free, {} of use to it", text.empty() ? "" : "; ", room.unit,
                        amount(r.resource, room.free), bare(r.resource, room.usable));
  }
  if (r.count > static_cast<std::int64_t>(r.units.size()) && r.kind == ReasonKind::kDomain) {
    text += fmt::format("; of {} in all", r.count);
  }
  return text;
}

std::string domain_text(const Reason& r) {
  if (r.level == kNodeLevel) return "has to be on one node, and on several";
  if (r.units.empty()) return fmt::format("no node says its {}, which the job requires", r.level);
  return fmt::format("needs {} in one {}: no {} has room now ({})", amount(r.resource, r.needs),
                     r.level, r.level, units_text(r));
}

std::string never_fits_text(const Reason& r) {
  const std::string pool = r.subject.empty() ? "its pool" : "pool " + r.subject;
  if (r.level == kNodeLevel || (!r.level.empty() && r.units.empty())) return domain_text(r);
  if (!r.level.empty()) {
    return fmt::format("needs {} in one {}; the largest, {}, could give {} even when empty",
                       amount(r.resource, r.needs), r.level, r.units.front().unit,
                       bare(r.resource, r.total));
  }
  if (r.resource.empty()) return fmt::format("no nodes of {} could hold it even when empty", pool);
  if (r.needs <= r.total && r.resource == "nodes") {  // enough of them, but too small
    return fmt::format(
        "needs {} with all that it asks of each; of the {} of {} {} could, even "
        "when empty",
        amount(r.resource, r.needs), r.total, pool, r.free);
  }
  if (r.needs <= r.total) {  // enough in sum, but not as it is asked for
    return fmt::format(
        "needs {} at once; {} has at most {} on one node, {} in all, even when empty",
        amount(r.resource, r.needs), pool, bare(r.resource, r.free), bare(r.resource, r.total));
  }
  return fmt::format("needs {}; {} could give at most {} even when empty",
                     amount(r.resource, r.needs), pool, bare(r.resource, r.total));
}

std::string fragmented_text(const Sight& sight, const Reason& r) {
  std::string text = fmt::format(
      "needs {}; {} free, but only {} where its tasks have room: ", amount(r.resource, r.needs),
      bare(r.resource, r.free), bare(r.resource, r.total));
  text += counted(r.count, "node has", "nodes have") + " too little left";
  if (r.other) text += ", most of them because of " + job_text(sight, r.other);
  if (!r.units.empty()) text += fmt::format(" ({} {})", r.level, units_text(r));
  return text;
}

std::string dependency_text(const Sight& sight, const Reason& r) {
  if (!r.other) return "waits for earlier jobs of the same name and user (singleton)";
  const std::string kind = r.subject.empty() ? "" : fmt::format(" ({})", r.subject);
  const std::string or_else =
      r.count > 1 ? fmt::format(", or one of {} others", r.count - 1) : std::string();
  return fmt::format("waits for {}{}{}", job_text(sight, r.other), kind, or_else);
}

// "priority 5 over 0".
std::string by_text(const Reason& r) {
  if (r.resource == "priority") return fmt::format("by priority, {} over {}", r.used, r.needs);
  if (r.resource == "submission") return "submitted earlier";
  if (r.resource == "band") return fmt::format("by its queue's band, {} over {}", r.used, r.needs);
  if (r.resource == "guarantee") return "its queue has less than it is guaranteed";
  if (r.resource == "share") {
    return fmt::format("by a smaller share, {:.1f} % against {:.1f} %",
                       static_cast<double>(r.used) / 1e7, static_cast<double>(r.needs) / 1e7);
  }
  if (r.resource == "head") return "a bad node stopped it, so it comes first";
  if (r.resource == "past_use") {
    return fmt::format(
        "by smaller recent usage for its weight, {:.2f} % of the cluster against {:.2f} %",
        static_cast<double>(r.used) / 1e7, static_cast<double>(r.needs) / 1e7);
  }
  if (r.resource == "sum") {
    return fmt::format("by priority, waiting, size and past use together, {} points over {}",
                       r.used, r.needs);
  }
  return r.resource.empty() ? "" : fmt::format("by its queue's order, {}", r.resource);
}

std::string ahead_text(const Sight& sight, const Reason& r) {
  std::string text = r.limit > 0 ? "at least " : "";
  text += counted(r.count, "job is ahead of it", "jobs are ahead of it");
  if (!r.subject.empty()) text += fmt::format(" in queue {}, where nothing passes", r.subject);
  if (r.other) text += (r.count == 1 ? ": " : "; the last of them is ") + job_text(sight, r.other);
  const std::string by = by_text(r);
  return by.empty() ? text : fmt::format("{} ({})", text, by);
}

std::string reserved_text(const Reason& r) {
  if (r.count > 0) {
    return fmt::format(
        "what is free is kept as spare nodes ({}) for gangs of {} nodes and more that a node fails",
        r.subject, r.count);
  }
  return fmt::format("what is free is kept for reservation {} from {} on", r.subject,
                     codec::rfc3339(r.until));
}

std::string reservation_text(const Reason& r) {
  if (r.needs > 0) {
    return fmt::format("runs in reservation {} only, whose {} no place for it", r.subject,
                       counted(r.total, "node has", "nodes have"));
  }
  if (r.until.us != 0) {
    return fmt::format("runs in reservation {} only, which begins {}", r.subject,
                       codec::rfc3339(r.until));
  }
  return fmt::format(
      "runs in reservation {} only, which is unknown, closed to it, or too near its end",
      r.subject);
}

std::string preemption_text(const Sight& sight, const Reason& r) {
  if (r.count > 0) {
    std::string text = counted(r.count, "running job", "running jobs") + " could be stopped for it";
    text += fmt::format(", {}{}", r.count > 1 ? "first " : "",
                        r.subject.empty() ? job_text(sight, r.other) : r.subject);
    if (r.until.us != 0) text += fmt::format(", not before {}", codec::rfc3339(r.until));
    return text;
  }
  if (r.total == 0) {
    return fmt::format(
        "none of the {} may be stopped for it: its priority is not higher, its "
        "queue's share not smaller",
        counted(r.used, "preemptible job", "preemptible jobs"));
  }
  return fmt::format("stopping any of the {} that could be would not make room for all of it",
                     counted(r.total, "job", "jobs"));
}

// "; node3: port:mlx5_0/1 (…)": the worst of what was found of the node.
std::string fault_text(const core::State& state, const std::string& name) {
  const core::Node* node = name.empty() ? nullptr : state.find_node(name);
  if (node == nullptr || node->findings.empty()) return "";
  const auto worst = std::max_element(
      node->findings.begin(), node->findings.end(),
      [](const auto& a, const auto& b) { return a.finding.severity < b.finding.severity; });
  const Finding& finding = worst->finding;
  const std::string device = finding.device < 0 ? "" : fmt::format(" of device {}", finding.device);
  return fmt::format("; {}: {}{}{}", name, finding.check, device,
                     finding.evidence.empty() ? "" : " (" + finding.evidence + ")");
}

// What closes nodes, in one word if it is one: "both nodes are drained (fan)".
std::string unavailable_text(const core::State& state, const Reason& r) {
  std::int64_t drained = 0;
  std::int64_t closed = 0;
  std::set<std::string> why;
  for (const core::Node& node : state.nodes) {
    if (node.removed || core::is_available(node)) continue;
    ++closed;
    const core::NodeExecutor* executor = core::closing_executor(node);
    if (executor != nullptr) why.insert(core::closing_text(*executor));
    if (!node.declared.drained && executor == nullptr) continue;
    ++drained;
    if (!node.declared.drain_reason.empty()) why.insert(node.declared.drain_reason);
  }
  const std::string which = r.count < r.total ? fmt::format("{} of {} matching nodes {}", r.count,
                                                            r.total, r.count == 1 ? "is" : "are")
                            : r.count == 1    ? std::string("the only matching node is")
                            : r.count == 2    ? std::string("both matching nodes are")
                                              : fmt::format("all {} matching nodes are", r.count);
  const bool only_drained = drained == closed && closed > 0;
  std::string text = which + (only_drained ? " drained" : " drained, suspect, lost or silent");
  if (only_drained && !why.empty()) text += fmt::format(" ({})", fmt::join(why, ", "));
  return text + fault_text(state, r.subject);
}

std::string promised_text(const Sight& sight, const Reason& r) {
  if (r.until.us == 0) {
    return fmt::format("the nodes that have room are kept for {}, which has waited too long",
                       job_text(sight, r.other));
  }
  return fmt::format("what is free is promised to {} from {} on, and this job could still hold it",
                     job_text(sight, r.other), codec::rfc3339(r.until));
}

std::string begin_text(const Reason& r) {
  if (r.subject.empty()) return fmt::format("starts after {}", to_the_second(r.until));
  if (r.subject == "restored") {
    return fmt::format(
        "the cluster was restored from a backup, and this job may still run on a "
        "node that was not heard of since; starts after {} at the latest",
        to_the_second(r.until));
  }
  if (r.subject == "launch") {
    return fmt::format("its last starts failed, on each node that was tried; tried again after {}",
                       to_the_second(r.until));
  }
  return fmt::format("no {} was to be had for its last start; tried again after {}", r.subject,
                     to_the_second(r.until));
}

std::string foreign_text(const Reason& r) {
  std::string text = fmt::format("{} holds {} on {}", r.subject, r.resource, r.level);
  if (r.until != kNever && r.until.us != 0) text += " until " + to_the_second(r.until);
  if (r.count > 0) text += fmt::format(", and {} more like it", r.count);
  return text;
}

std::string held_text(const Reason& r) {
  if (r.count > 0) {
    return fmt::format(
        "held after nodes or launches failed it {} in a row; `dove show` names them, `dove "
        "release` lets it go",
        counted(r.count, "time", "times"));
  }
  if (r.resource == "stopped") {
    return "stopped by its user; `dove start` runs it again, `dove cancel` ends it";
  }
  const std::string by = r.subject.empty() ? "" : " by " + r.subject;
  if (r.level.empty()) return fmt::format("held{}; `dove release` lets it go", by);
  return fmt::format("held{}; it is let go where it was held: as {} there, or by `dove release`",
                     by, r.level);
}

std::string executor_text(const Reason& r) {
  const std::string who = "executor " + r.subject;
  if (r.resource == "undeclared") return fmt::format("{} is to run it and is not declared", who);
  if (r.resource == "silent") return fmt::format("{} is to run it: its adapter is silent", who);
  if (r.resource == "mute") return fmt::format("{} is to run it; its adapter gets no answer", who);
  if (r.resource == "nodes") return fmt::format("{} has no node of pool {}", who, r.level);
  const std::string nodes = counted(r.total, "node", "nodes");
  if (r.resource == "agents") {
    return fmt::format(
        "no agent of ours runs on the {} of pool {} that it could use; executor {} can run it "
        "there: "
        "`--executor {}`",
        nodes, r.level, r.subject, r.subject);
  }
  if (r.resource == "lent") {
    return fmt::format("{} is to run it and is lent nothing of its {} of pool {}", who, nodes,
                       r.level);
  }
  return fmt::format(
      "{} is to run it, and what the job could use there of pool {} is down or drained ({})", who,
      r.level, nodes);
}

std::string text_of(const Sight& sight, const Reason& r) {
  const core::State& state = sight.state;
  switch (r.kind) {
    case ReasonKind::kHeld:
      return held_text(r);
    case ReasonKind::kBeginTime:
      return begin_text(r);
    case ReasonKind::kDependency:
      return dependency_text(sight, r);
    case ReasonKind::kArrayLimit:
      return fmt::format("{} of its array may run at once; {} do",
                         counted(r.limit, "element", "elements"), r.used);
    case ReasonKind::kQueueLimit:
    case ReasonKind::kUserLimit:
    case ReasonKind::kProjectLimit:
    case ReasonKind::kDomainLimit:
      return limit_text(state, r);
    case ReasonKind::kClusterLimit:
      return fmt::format("needs {}; {} of the cluster's {} are in use", amount(r.resource, r.needs),
                         bare(r.resource, r.used), bare(r.resource, r.limit));
    case ReasonKind::kPoolClosed:
      return fmt::format("pool {} is closed: nothing is started there", r.subject);
    case ReasonKind::kTimeLimit:
      return fmt::format("asks for {}; pool {} allows {}", codec::human_span(seconds(r.needs)),
                         r.subject, codec::human_span(seconds(r.limit)));
    case ReasonKind::kResources:
      return resources_text(r);
    case ReasonKind::kNeverFits:
      return never_fits_text(r);
    case ReasonKind::kNodesUnavailable:
      return unavailable_text(state, r);
    case ReasonKind::kAhead:
      return ahead_text(sight, r);
    case ReasonKind::kDomain:
      return domain_text(r);
    case ReasonKind::kFragmented:
      return fragmented_text(sight, r);
    case ReasonKind::kLabels:
      return fmt::format("{} of {} nodes are as it wants them ({})", r.count, r.total,
                         r.subject.empty() ? "apart from others" : r.subject);
    case ReasonKind::kPreemption:
      return preemption_text(sight, r);
    case ReasonKind::kExcluded:
      if (r.count == 0) return "--nodelist and --exclude leave no node";
      return fmt::format("--nodelist and --exclude leave {}, which cannot hold it now",
                         counted(r.count, "node", "nodes"));
    case ReasonKind::kPromised:
      return promised_text(sight, r);
    case ReasonKind::kReserved:
      return reserved_text(r);
    case ReasonKind::kReservation:
      return reservation_text(r);
    case ReasonKind::kForeign:
      return foreign_text(r);
    case ReasonKind::kExecutor:
      return executor_text(r);
    case ReasonKind::kNoPlan:
      return fmt::format("no start can be promised: {} without a time limit",
                         counted(r.count, "job runs", "jobs run"));
  }
  return "";
}

}  // namespace

Json reason_json(const core::State& state, const Reason& r, const MayName& may_name) {
  Json object{{"kind", codec::word(r.kind)}, {"text", text_of({state, may_name}, r)}};
  if (!r.subject.empty()) object["subject"] = r.subject;
  if (!r.resource.empty()) object["resource"] = r.resource;
  const auto put = [&](const char* name, std::int64_t value) {
    if (value != 0) object[name] = value;
  };
  put("needs", r.needs);
  put("free", r.free);
  put("used", r.used);
  put("limit", r.limit);
  put("total", r.total);
  put("count", r.count);
  if (!r.level.empty()) object["level"] = r.level;
  for (const UnitRoom& room : r.units) {
    object["units"].push_back({{"unit", room.unit}, {"free", room.free}, {"usable", room.usable}});
  }
  if (r.other) object["job"] = r.other.value;
  if (r.until.us != 0) put_instant(object, "until", r.until);
  return object;
}

MayName names_of_own(const core::Job& job) {
  return [user = job.spec->user](const core::Job& other) { return other.spec->user == user; };
}

Json reasons_json(const core::State& state, const core::Job& job,
                  const std::vector<Reason>& reasons, const MayName& may_name) {
  const auto impossible = [](const Reason& r) {
    return r.kind == ReasonKind::kNeverFits || (r.kind == ReasonKind::kExcluded && r.count == 0);
  };
  Json first = Json::array();
  Json rest = Json::array();
  std::vector<std::string> texts;
  if (std::any_of(reasons.begin(), reasons.end(), impossible)) {
    texts = core::cannot_start(state, *job.spec);
  }
  for (const Reason& reason : reasons) {
    Json& list = impossible(reason) ? first : rest;
    list.push_back(reason_json(state, reason, may_name));
    if (!impossible(reason) || first.size() > texts.size()) continue;
    list.back()["text"] = texts[first.size() - 1];
  }
  for (Json& each : rest) first.push_back(std::move(each));
  return first;
}

}  // namespace dove::views
