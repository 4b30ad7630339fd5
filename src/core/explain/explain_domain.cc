#include "core/explain/explain_domain.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/place/fit.h"
#include "core/place/place.h"

namespace dove::core {
namespace {

// How many units are listed, and how many nodes with leftovers are looked at.
constexpr std::size_t kUnits_told = 4;
constexpr std::size_t kFragments_max = 256;

// What the job is measured in: GPUs when it asks for any, else cores.
class Measure {
 public:
  Measure(const WhatIf& now, const PlacementPolicy& policy, const JobSpec& spec)
      : now_(now), policy_(policy), group_(&spec.groups.front()) {
    for (const TaskGroup& group : spec.groups) {
      // GPUs where any group asks for some: they are what a gang waits for.
      needs_ += std::int64_t{group.tasks} * per_task(group, true);
      if (per_task(group, true) > per_task(*group_, true)) group_ = &group;
    }
    in_gpus_ = needs_ > 0;
    if (in_gpus_) return;
    for (const TaskGroup& group : spec.groups) {
      needs_ += std::int64_t{group.tasks} * per_task(group, false);
      if (per_task(group, false) > per_task(*group_, false)) group_ = &group;
    }
  }

  const char* resource() const { return in_gpus_ ? "gpus" : "cores"; }
  std::int64_t needs() const { return needs_; }

  std::int64_t free(NodeId node) const {
    const FreeView view = now_.view(node);
    if (!in_gpus_) return static_cast<std::int64_t>(view.cores->size());
    std::int64_t count = 0;
    for (std::size_t i = 0; i < view.devices_milli.size(); ++i) {
      const bool whole = view.devices_milli[i] >= kWholeDevice_milli;
      if (whole && matches(group_->per_task, view.inventory->devices[i])) ++count;
    }
    return count;
  }

  // Whether it has any free at all, by its sums.
  bool may_have(NodeId node) const {
    const NodeFree& sums = now_.free(node);
    return in_gpus_ ? sums.gpus_milli >= kWholeDevice_milli : sums.cores > 0;
  }

  // The part of what the node has free that tasks of the job could use.
  std::int64_t usable(const Node& node) const {
    const std::int64_t each = per_task(*group_, in_gpus_);
    if (each == 0) return 0;
    // By the search's own capacity: what is free and what tasks can use differ, and the difference
    // is the fragmentation.
    std::int32_t tasks = capacity(now_.view(node.id), *group_, policy_, group_->tasks);
    const std::int32_t step = std::min(group_->tasks_per_node, group_->tasks);
    // The shape allows exactly that many on a node, so more room is of no use, and less of none.
    if (step > 0) tasks = tasks >= step ? step : 0;
    return tasks * each;
  }

 private:
  static std::int64_t per_task(const TaskGroup& group, bool gpus) {
    return gpus ? group.per_task.gpus : group.per_task.cores;
  }

  const WhatIf& now_;
  const PlacementPolicy& policy_;
  const TaskGroup* group_;  // that asks for most per task
  bool in_gpus_ = true;
  std::int64_t needs_ = 0;
};

// The units of the level with what of them the job could use, the best first.
std::vector<UnitRoom> rooms_of(WhatIf& now, const PlacementPolicy& policy, const JobSpec& spec,
                               std::string_view level) {
  const Measure measure(now, policy, spec);
  std::vector<UnitRoom> rooms;
  // Stable below, so units of equal room stay tightest first.
  for (std::int32_t at : now.domains().tightest_first(level)) {
    const Domains::Unit& unit = now.domains().unit(at);
    UnitRoom room;
    room.unit = unit.path;
    for (NodeId id : unit.nodes) {
      const Node& node = now.node(id);
      if (!measure.may_have(id) || !allows(spec, node)) continue;
      room.free += measure.free(node.id);
      room.usable += measure.usable(node);
    }
    rooms.push_back(std::move(room));
  }
  std::stable_sort(rooms.begin(), rooms.end(), [](const UnitRoom& a, const UnitRoom& b) {
    return std::tie(a.usable, a.free) > std::tie(b.usable, b.free);
  });
  return rooms;
}

Reason of_units(ReasonKind kind, WhatIf& what, const PlacementPolicy& policy, const JobSpec& spec) {
  const Measure measure(what, policy, spec);
  Reason made;
  made.kind = kind;
  made.level = spec.domain;
  made.resource = measure.resource();
  made.needs = measure.needs();
  made.units = rooms_of(what, policy, spec, spec.domain);
  // Counted before the list is cut: the text says of how many units the best are shown.
  made.count = static_cast<std::int64_t>(made.units.size());
  if (!made.units.empty()) {
    made.free = made.units.front().free;
    made.total = made.units.front().usable;
  }
  if (made.units.size() > kUnits_told) made.units.resize(kUnits_told);
  return made;
}

}  // namespace

Reason no_unit(bool never, WhatIf& nodes, const PlacementPolicy& policy, const JobSpec& spec) {
  Reason made = of_units(never ? ReasonKind::kNeverFits : ReasonKind::kDomain, nodes, policy, spec);
  // On empty nodes "free" would be all there is, and read as if it were free now.
  if (never) made.free = 0;
  return made;
}

Reason labels_refuse(const State& state, const WhatIf& now, NodeChoice& choice) {
  const JobSpec& spec = choice.spec();
  Reason made;
  made.kind = ReasonKind::kLabels;
  for (const Node* node : now.matching(choice)) {
    ++made.total;
    if (labels_allow(spec, *node, state.jobs)) ++made.count;
  }
  for (const std::string& label : spec.near_labels) made.subject += " near " + label;
  for (const std::string& label : spec.apart_labels) made.subject += " apart from " + label;
  if (!made.subject.empty()) made.subject.erase(0, 1);
  return made;
}

void add_fragments(WhatIf& now, const PlacementPolicy& policy, const JobSpec& spec,
                   std::vector<Reason>& out) {
  const Measure measure(now, policy, spec);
  Reason made;
  made.kind = ReasonKind::kFragmented;
  made.resource = measure.resource();
  made.needs = measure.needs();
  std::vector<JobId> holders;
  now.each([&](NodeId id) {
    const Node& node = now.node(id);
    if (!measure.may_have(id) || !allows(spec, node)) return;
    const std::int64_t free = measure.free(id);
    const std::int64_t usable = measure.usable(node);
    made.free += free;
    made.total += std::min(free, usable);
    // All of it can be used, so nobody on this node is in the way.
    if (usable >= free) return;
    // All are counted, and the jobs of the first ones looked at: sorting the holders of a whole
    // cluster would cost more than the name of one is worth.
    if (static_cast<std::size_t>(++made.count) > kFragments_max) return;
    holders.insert(holders.end(), node.jobs.begin(), node.jobs.end());
  });
  // Only where the sum would do and what can be used of it would not.
  if (made.needs == 0 || made.free < made.needs || made.total >= made.needs) return;
  const bool is_short = std::any_of(out.begin(), out.end(), [&](const Reason& each) {
    return each.kind == ReasonKind::kResources &&
           (each.resource == made.resource || each.resource == "nodes");
  });
  if (!is_short) return;  // something else is
  std::sort(holders.begin(), holders.end());
  std::size_t most = 0;
  // The job that is on most of these nodes. Sorted, so equal ids lie together and ties go to the
  // oldest.
  for (std::size_t i = 0; i < holders.size();) {
    std::size_t end = i;
    while (end < holders.size() && holders[end] == holders[i]) ++end;
    if (end - i > most) made.other = holders[i];
    most = std::max(most, end - i);
    i = end;
  }
  made.level = spec.domain.empty() ? now.domains().widest() : spec.domain;
  made.units = rooms_of(now, policy, spec, made.level);
  if (made.units.size() > kUnits_told) made.units.resize(kUnits_told);
  out.push_back(std::move(made));
}

}  // namespace dove::core
