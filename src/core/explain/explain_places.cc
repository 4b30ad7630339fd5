#include "core/explain/explain_places.h"

#include <algorithm>

#include "core/explain/explain_domain.h"
#include "core/explain/place_causes.h"
#include "core/explain/smallest_causes.h"
#include "core/place/within_limits.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

class Explainer {
 public:
  Explainer(ExplainIndex& index, const Pool& pool, const Job& job, std::vector<Reason>& told,
            std::vector<Reason>& out)
      : state_(index.state()),
        policy_(*index.policies().placement),
        job_(job),
        spec_(*job.spec),
        causes_(index, pool, job),
        choice_(state_, spec_),
        told_(told),
        out_(out) {}

  // Causes are searched for before any of them is told: whether one is a cause depends on which
  // others are, and each one's numbers are those of the nodes without the others.
  void run() {
    const Causes found = smallest_causes(causes_, spec_);
    // Limits that were told before may be those of a job that can never start.
    forget_limits(found);
    tell(found);
    if ((found & kTooFewCause) == 0) tell_limits(found);
  }

 private:
  bool fits(Causes gone) { return causes_.fits(gone); }
  void forget_limits(Causes found);
  void tell(Causes found);
  void tell_reservations(Causes found);
  void tell_kind(ReasonKind kind, const Kind& each, Causes nodes_gone);
  void tell_nodes(ReasonKind kind, Causes nodes_gone);
  void tell_limits(Causes found);

  const State& state_;
  const PlacementPolicy& policy_;
  const Job& job_;
  const JobSpec& spec_;
  PlaceCauses causes_;
  NodeChoice choice_;
  std::vector<Reason>& told_;
  std::vector<Reason>& out_;
};

// Limits do not matter to what can never be.
void Explainer::forget_limits(Causes found) {
  const JobSpec spec = causes_.spec_without(found);
  const auto broken = broken_limits(state_, spec, least_amount(spec), false);
  // A limit that the job without its impossible part would keep is no obstacle of its own.
  std::erase_if(told_, [&](const Reason& one) {
    return std::none_of(broken.begin(), broken.end(),
                        [&](const Reason& other) { return same_limit(one, other); });
  });
}

std::int32_t least_nodes(const TaskGroup& group) {
  const std::int32_t per_node = group.tasks_per_node;
  const std::int32_t for_tasks = per_node > 0 ? (group.tasks + per_node - 1) / per_node : 1;
  return std::max(group.nodes_min, for_tasks);
}

// The name of the first of `all` that is not `open` and has a fault; "": none has.
std::string first_with_fault(const std::vector<const Node*>& all,
                             // A fault says more than "not available", and names where to look.
                             const std::vector<const Node*>& open) {
  // Those that are in both, in the same order, are passed over without a look at them.
  auto next = open.begin();
  for (const Node* node : all) {
    if (next != open.end() && *next == node) {
      ++next;
      continue;
    }
    const bool has_fault = std::any_of(
        node->findings.begin(), node->findings.end(),
        [](const OpenFinding& one) { return one.finding.severity >= Severity::kFault; });
    if (has_fault && std::find(open.begin(), open.end(), node) == open.end()) return node->name;
  }
  return "";
}

void Explainer::tell_reservations(Causes found) {
  if ((found & kInsideCause) != 0) {
    Reason made;
    made.kind = ReasonKind::kReservation;
    made.subject = spec_.reservation;
    for (const TaskGroup& group : spec_.groups) made.needs += least_nodes(group);
    // Its nodes in the end, whoever uses them now.
    made.total = static_cast<std::int64_t>(
        causes_.nodes(kUnavailableCause | kReservedCause).matching(choice_).size());
    out_.push_back(std::move(made));
  }
  if ((found & kReservedCause) == 0) return;
  for (const Reservation* reservation : causes_.reservations_in(found)) {
    Reason made;
    made.kind = ReasonKind::kReserved;
    made.subject = reservation->name;
    made.until = reservation->starts_at;
    made.count = reservation->spares_for;
    out_.push_back(std::move(made));
  }
}

void Explainer::tell(Causes found) {
  const Causes closed = found & kClosedCauses;
  if ((found & kLabelsCause) != 0) {
    out_.push_back(labels_refuse(state_, causes_.nodes(closed), choice_));
  }
  if ((found & kDomainCause) != 0) {
    const Causes empty = (causes_.applicable() & ~kDomainCause) | kOccupiedCause;
    // Whether a unit would do with nobody on it tells "never" from "not now".
    const bool never = !fits(empty);
    out_.push_back(no_unit(never, causes_.nodes(never ? empty : closed), policy_, spec_));
  }
  tell_reservations(found);
  if ((found & kChoiceCause) != 0) {
    const WhatIf& all = causes_.nodes(kClosedCauses);
    Reason made;
    made.kind = ReasonKind::kExcluded;
    made.count = static_cast<std::int64_t>(all.matching(choice_).size());
    const JobSpec spec = causes_.spec_without(found);
    NodeChoice without(state_, spec);
    made.total = static_cast<std::int64_t>(all.matching(without).size());
    out_.push_back(std::move(made));
  }
  if ((found & kUnavailableCause) != 0) {
    // Without the choice if that is a cause of its own: else nodes would be counted twice.
    const JobSpec spec = causes_.spec_without(found & kChoiceCause);
    NodeChoice without(state_, spec);
    NodeChoice& choice = (found & kChoiceCause) != 0 ? without : choice_;
    Reason made;
    made.kind = ReasonKind::kNodesUnavailable;
    const std::vector<const Node*> all = causes_.nodes(closed).matching(choice);
    const std::vector<const Node*> open =
        causes_.nodes(closed & ~kUnavailableCause).matching(choice);
    made.total = static_cast<std::int64_t>(all.size());
    made.count = made.total - static_cast<std::int64_t>(open.size());
    made.subject = first_with_fault(all, open);
    out_.push_back(std::move(made));
  }
  bool held = false;
  for (std::size_t i = 0; i < causes_.kinds().size(); ++i) {
    if ((found & scarce_cause(i)) != 0) {
      tell_kind(ReasonKind::kNeverFits, causes_.kinds()[i], kClosedCauses | kOccupiedCause);
    }
    if ((found & allocated_cause(i)) == 0) continue;
    tell_kind(ReasonKind::kResources, causes_.kinds()[i], closed);
    held = true;
  }
  if ((found & kOccupiedCause) != 0) tell_nodes(ReasonKind::kResources, closed);
  if ((found & kTooFewCause) != 0) {
    tell_nodes(ReasonKind::kNeverFits, kClosedCauses | kOccupiedCause);
  }
  // Enough may be free in sum, but in pieces: the answer names that as well.
  if (held || (found & kOccupiedCause) != 0) {
    add_fragments(causes_.nodes(closed), policy_,
                  causes_.spec_without(found & (kChoiceCause | kDomainCause | kLabelsCause)), out_);
  }
}

void Explainer::tell_kind(ReasonKind kind, const Kind& each, Causes nodes_gone) {
  Reason made;
  made.kind = kind;
  made.resource = each.name;
  for (const TaskGroup& group : spec_.groups) {
    made.needs += group.tasks * each.asked(group.per_task) +
                  std::max(group.nodes_min, 1) * each.asked(group.per_node);
  }
  const WhatIf& nodes = causes_.nodes(nodes_gone);
  const WhatIf& empty = causes_.nodes(kUnavailableCause | kOccupiedCause | nodes_gone);
  // The most on one node, as a task cannot be spread. By the sums most nodes are known to have no
  // more than another one.
  nodes.each([&](NodeId id) {
    if (each.most(nodes.free(id)) <= made.free || !choice_.allows(id)) return;
    made.free = std::max(made.free, each.free(nodes.view(id)));
  });
  // Empty nodes of a kind share their books, and come in runs.
  const CoreSet* seen = nullptr;
  std::int64_t here = 0;
  empty.each([&](NodeId id) {
    if (!choice_.allows(id)) return;
    const FreeView view = empty.view(id);
    if (view.cores != seen) here = each.free(view);
    seen = view.cores;
    made.total += here;
  });
  out_.push_back(std::move(made));
}

void Explainer::tell_nodes(ReasonKind kind, Causes nodes_gone) {
  Reason made;
  made.kind = kind;
  made.resource = "nodes";
  for (const TaskGroup& group : spec_.groups) made.needs += least_nodes(group);
  made.free = causes_.nodes(nodes_gone).count_with_room(choice_);
  made.total = static_cast<std::int64_t>(
      causes_.nodes(kUnavailableCause | kOccupiedCause | nodes_gone).matching(choice_).size());
  out_.push_back(std::move(made));
}

// Limits that depend on which nodes it gets.
void Explainer::tell_limits(Causes found) {
  if (!amount_hangs_on_places(state_, spec_)) return;
  const JobSpec spec = causes_.spec_without(found);
  LimitedSearch search{state_, spec, job_.nodes_avoided};
  // Only found by search, as which nodes it gets decides how much counts: a limit by model, say.
  search.find = [&](std::span<const NodeId> avoided) { return causes_.places(found, avoided); };
  search.excused = told_;
  std::vector<Reason> broken;
  if (places_within_limits(search, &broken)) return;
  const auto do_without = [&](std::size_t left_out) {
    search.excused = told_;
    for (std::size_t i = 0; i < broken.size(); ++i) {
      if (i != left_out) search.excused.push_back(broken[i]);
    }
    return places_within_limits(search).has_value();
  };
  // One that is left out can lead to nodes where another does not matter: until all are needed.
  for (bool dropped = true; dropped;) {
    dropped = false;
    for (std::size_t i = broken.size(); i-- > 0;) {
      if (!do_without(i)) continue;
      broken.erase(broken.begin() + static_cast<std::ptrdiff_t>(i));
      dropped = true;
    }
  }
  for (Reason& one : broken) out_.push_back(std::move(one));
}

}  // namespace

void add_places(ExplainIndex& index, const Pool& pool, const Job& job, std::vector<Reason>& told,
                std::vector<Reason>& out) {
  Explainer(index, pool, job, told, out).run();
}

}  // namespace dove::core
