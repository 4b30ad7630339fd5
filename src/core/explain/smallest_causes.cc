#include "core/explain/smallest_causes.h"

#include <initializer_list>

namespace dove::core {
namespace {

class SmallestCauses {
 public:
  SmallestCauses(PlaceCauses& causes, const JobSpec& spec) : causes_(causes), spec_(spec) {}

  Causes smallest();

 private:
  bool fits(Causes gone) const { return causes_.fits(gone); }
  Causes without_hardware(Causes soft) const;
  Causes with_hardware(Causes soft) const;
  Causes by_kinds(Causes found) const;
  // Drops what is not needed, in the order given.
  Causes drop(Causes found, std::initializer_list<Causes> order) const;
  Causes drop_each(Causes found) const;
  // What never fits alone may do so beside the rest, where a search finds more that asks for more.
  Causes confirmed(Causes found) const;

  PlaceCauses& causes_;
  const JobSpec& spec_;
  bool needs_room_ = false;  // which other jobs hold
};

Causes SmallestCauses::drop(Causes found, std::initializer_list<Causes> order) const {
  for (const Causes each : order) {
    // Tried without it: what still fits did not need this cause to go. Each cause that is left is
    // thereby verified.
    if ((found & each) != 0 && fits(found & ~each)) found &= ~each;
  }
  return found;
}

// A search for several groups can find more where it is offered less: asks for all of them.
Causes SmallestCauses::drop_each(Causes found) const {
  if (search_is_monotone(spec_)) return found;
  // A single pass: what has become droppable by a later drop may stay. The set is then enough,
  // though not always the smallest.
  for (Causes each = 1; each != 0 && each <= found; each <<= 1) found = drop(found, {each});
  return found;
}

Causes SmallestCauses::smallest() {
  const Causes soft = causes_.applicable();
  // Then what others hold is needed whatever else there is, and less need not be asked.
  needs_room_ = search_is_monotone(spec_) && !fits(soft);
  if (!needs_room_) {
    // Nothing is in the way now; something else keeps it waiting.
    if (fits(0)) return 0;
    // One cause alone is the usual case, and reads best. In this order: what the job's owner can
    // change comes before what administrators can.
    for (const Causes each : {kLabelsCause, kDomainCause, kChoiceCause, kInsideCause,
                              kReservedCause, kUnavailableCause}) {
      if ((soft & each) != 0 && fits(each)) return each;
    }
  }
  // With everything soft gone and everybody off the nodes: if it fits, the hardware is enough.
  const bool will_fit = fits(soft | kOccupiedCause);
  return confirmed(drop_each(will_fit ? without_hardware(soft) : with_hardware(soft)));
}

Causes SmallestCauses::confirmed(Causes found) const {
  if (search_is_monotone(spec_)) return found;
  for (std::size_t i = 0; i < causes_.kinds().size();) {
    const Causes other = (found & ~scarce_cause(i)) | kOccupiedCause;
    if ((found & scarce_cause(i)) == 0 || !fits(other)) {
      ++i;
      continue;
    }
    found = drop_each(other);
    // The order of these trials decides which of several smallest sets is named; it is fixed, so
    // that an answer stays the same from one question to the next.
    i = 0;  // with less gone, another may do too
  }
  return found;
}

Causes SmallestCauses::without_hardware(Causes soft) const {
  // Tried early means dropped early: the wishes of the job are blamed only where the rest is not
  // enough.
  Causes found = drop(soft | kOccupiedCause, {kChoiceCause, kInsideCause, kReservedCause,
                                              kLabelsCause, kDomainCause, kUnavailableCause});
  if (!needs_room_) found = drop(found, {kOccupiedCause});
  return (found & kOccupiedCause) == 0 ? found : by_kinds(found);
}

// Names the resources that other jobs hold too much of, where that can be said of one at a time.
Causes SmallestCauses::by_kinds(Causes found) const {
  const Causes rest = found & ~kOccupiedCause;
  // With nothing asked of it at all, it still does not fit.
  if (!causes_.fits_only(rest, nullptr)) return found;  // it is the nodes themselves
  Causes alone = 0;
  for (std::size_t i = 0; i < causes_.kinds().size(); ++i) {
    // A resource that is not needed alone may be needed together with others.
    const bool scarce = (rest & scarce_cause(i)) != 0;
    if (!scarce && !causes_.fits_only(rest, &causes_.kinds()[i])) alone |= allocated_cause(i);
  }
  if (alone == 0) return found;
  Causes kinds = alone;
  if (!fits(rest | kinds)) {
    // Several resources together: first all, then without those that were not scarce alone.
    kinds = causes_.all_allocated();
    if (!fits(rest | kinds)) return found;
    for (std::size_t i = 0; i < causes_.kinds().size(); ++i) {
      const Causes fewer = kinds & ~allocated_cause(i);
      if ((alone & allocated_cause(i)) == 0 && fits(rest | fewer)) kinds = fewer;
    }
  }
  return drop(rest | kinds, {kChoiceCause, kInsideCause, kReservedCause, kLabelsCause, kDomainCause,
                             kUnavailableCause});
}

Causes SmallestCauses::with_hardware(Causes soft) const {
  const Causes near = spec_.near_labels.empty() ? 0 : kLabelsCause;
  const Causes empty = (soft & kClosedCauses) | kOccupiedCause | near;
  Causes scarce = 0;
  // Each resource by itself on empty nodes: the ones that fail are never there in such a size.
  if (causes_.fits_only(empty, nullptr)) {
    for (std::size_t i = 0; i < causes_.kinds().size(); ++i) {
      if (!causes_.fits_only(empty, &causes_.kinds()[i])) scarce |= scarce_cause(i);
    }
  }
  // No resource alone is to blame: the nodes together are too few, or none has all at once.
  if (scarce == 0 || !fits(soft | kOccupiedCause | scarce)) {
    return drop(kTooFewCause | near | (soft & kInsideCause), {kInsideCause, kLabelsCause});
  }
  const Causes found = drop(soft | kOccupiedCause | scarce,
                            {kChoiceCause, kInsideCause, kReservedCause, kLabelsCause, kDomainCause,
                             kUnavailableCause, kOccupiedCause});
  return (found & kOccupiedCause) == 0 ? found : by_kinds(found);
}

}  // namespace

Causes smallest_causes(PlaceCauses& causes, const JobSpec& spec) {
  return SmallestCauses(causes, spec).smallest();
}

}  // namespace dove::core
