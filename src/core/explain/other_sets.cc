#include "core/explain/other_sets.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/explain/explain_index.h"
#include "core/explain/place_causes.h"
#include "core/explain/smallest_causes.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// Each trial is a search over the nodes, and somebody waits for the answer.
constexpr int kTrials = 40;
// Steps from set to set: one without a trial costs little, but there can be millions.
constexpr int kSteps = 4000;

class OtherSetsSearch {
 public:
  OtherSetsSearch(PlaceCauses& causes, Causes named) : causes_(causes), named_(named) {
    Causes all = causes.applicable();
    // What others hold is a cause by resources, or as a whole where that is what was named.
    all |= (named & kOccupiedCause) != 0 ? kOccupiedCause : causes.all_allocated();
    for (; all != 0; all &= all - 1) single_.push_back(all & ~(all - 1));
  }

  OtherSets run() {
    // Smaller sets first, so that no set that is found holds another one that would do. Sets larger
    // than the named one would only be worse advice.
    const int size = std::popcount(named_);
    for (int count = 1; count <= size && found_.all; ++count) extend(0, 0, count);
    return std::move(found_);
  }

 private:
  // Sets of `chosen` and `count` more, of those from `from` on.
  void extend(Causes chosen, std::size_t from, int count) {
    if (is_too_large(chosen)) return;  // and so is whatever has more
    if (count == 0) return consider(chosen);
    if (++steps_ > kSteps) found_.all = false;
    for (std::size_t i = from; i < single_.size() && found_.all; ++i) {
      extend(chosen | single_[i], i + 1, count - 1);
    }
  }

  // A set that is more than another one which does is not a smallest one.
  bool is_too_large(Causes set) const {
    const auto holds = [set](Causes part) { return (set & part) == part; };
    return holds(named_) || std::any_of(taken_.begin(), taken_.end(), holds);
  }

  void consider(Causes set) {
    // Not silently cut: the answer says that there may be more.
    if (trials_ == kTrials) {
      found_.all = false;
      return;
    }
    ++trials_;
    if (!causes_.fits(set)) return;
    taken_.push_back(set);
    std::vector<OtherCause>& told = found_.sets.emplace_back();
    constexpr std::pair<Causes, ReasonKind> kKinds[] = {
        {kLabelsCause, ReasonKind::kLabels},     {kDomainCause, ReasonKind::kDomain},
        {kChoiceCause, ReasonKind::kExcluded},   {kInsideCause, ReasonKind::kReservation},
        {kReservedCause, ReasonKind::kReserved}, {kUnavailableCause, ReasonKind::kNodesUnavailable},
    };
    for (const auto& [cause, kind] : kKinds) {
      if ((set & cause) != 0) told.push_back({kind, ""});
    }
    if ((set & kOccupiedCause) != 0) told.push_back({ReasonKind::kResources, "nodes"});
    for (std::size_t i = 0; i < causes_.kinds().size(); ++i) {
      if ((set & allocated_cause(i)) == 0) continue;
      told.push_back({ReasonKind::kResources, causes_.kinds()[i].name});
    }
  }

  PlaceCauses& causes_;
  const Causes named_;
  std::vector<Causes> single_;
  std::vector<Causes> taken_;
  int trials_ = 0;
  int steps_ = 0;
  OtherSets found_;
};

}  // namespace

OtherSets other_sets(const State& state, const Policies& policies, const Job& job) {
  ExplainIndex index(state, policies);
  return other_sets(index, job);
}

OtherSets other_sets(ExplainIndex& index, const Job& job) {
  const Pool* pool = pool_of(index.state(), *job.spec);
  if (pool == nullptr || job.phase != JobPhase::kWaiting) return {};
  PlaceCauses causes(index, *pool, job);
  // The same function that names the causes, so that the named set is the one that is left out
  // here.
  const Causes named = smallest_causes(causes, *job.spec);
  Causes never = kTooFewCause;
  for (std::size_t i = 0; i < causes.kinds().size(); ++i) never |= scarce_cause(i);
  // What no node ever has cannot be made good by anything else.
  if (named == 0 || (named & never) != 0) return {};
  return OtherSetsSearch(causes, named).run();
}

}  // namespace dove::core
