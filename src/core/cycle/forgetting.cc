// Which ended jobs retention may drop, and in which order: Indexes::forgettable, the queue of the
// purge pass. A job may be dropped once nobody alive names it. An array is dropped as a whole, from
// its last end on: a later element, or a job after it, may ask for any of its elements.
#include <utility>

#include "core/cycle/indexes.h"
#include "core/state/state.h"

namespace dove::core {
namespace {

bool has_dependents(const Indexes& indexes, JobId id) { return indexes.dependents.contains(id); }

// That of an element, also of one that is forgotten; null: it is of none.
const std::pair<const JobId, IndexedArray>* array_around(const Indexes& indexes, JobId id) {
  auto at = indexes.arrays.upper_bound(id);
  if (at == indexes.arrays.begin()) return nullptr;
  --at;
  return id.value < at->first.value + at->second.elements ? &*at : nullptr;
}

// Whether somebody alive names the array or one of its elements.
bool is_named(const Indexes& indexes, JobId array, const IndexedArray& entry) {
  const auto at = indexes.dependents.lower_bound(array);
  return at != indexes.dependents.end() && at->first.value < array.value + entry.elements;
}

// Whether retention may drop the job: nobody alive refers to it or is of its array.
bool is_forgettable(const Indexes& indexes, const Job& job) {
  if (job.phase != JobPhase::kEnded) return false;
  return job.array ? indexes.arrays.at(job.array).forgettable : !has_dependents(indexes, job.id);
}

void set_array(const State& state, Indexes& indexes, JobId id, IndexedArray& array, bool now) {
  if (now == array.forgettable) return;
  array.forgettable = now;
  for (auto at = state.jobs.lower_bound(id); at != state.jobs.end(); ++at) {
    if (at->second.array != id) return;
    set_forgettable(indexes, at->second);
  }
}

}  // namespace

IndexedArray& array_of(Indexes& indexes, const Job& job) {
  IndexedArray& array = indexes.arrays[job.array];
  array.elements = job.spec->array.indices.size();
  return array;
}

ForgetKey forget_key(const Indexes& indexes, JobId id, const IndexedJob& entry) {
  const auto* array = array_around(indexes, id);
  return {array == nullptr ? entry.ended_at : array->second.last_end, entry.ended_at, id};
}

void set_forgettable(Indexes& indexes, const Job& job) {
  const auto entry = indexes.jobs.find(job.id);
  if (entry == indexes.jobs.end()) return;
  // The set is the queue of the purge pass.
  const bool now = is_forgettable(indexes, job);
  if (now == entry->second.forgettable) return;
  entry->second.forgettable = now;
  const ForgetKey key = forget_key(indexes, job.id, entry->second);
  if (now) {
    indexes.forgettable.insert(key);
  } else {
    indexes.forgettable.erase(key);
  }
}

void set_array_forgettable(const State& state, Indexes& indexes, JobId id) {
  IndexedArray& array = indexes.arrays.at(id);
  set_array(state, indexes, id, array, array.live == 0 && !is_named(indexes, id, array));
}

void note_end(const State& state, Indexes& indexes, const Job& job) {
  IndexedArray& array = array_of(indexes, job);
  if (job.ended_at <= array.last_end) return;
  // Those that are queued by the former one.
  set_array(state, indexes, job.array, array, false);
  array.last_end = job.ended_at;
}

void set_forgettable_named(const State& state, Indexes& indexes, JobId id) {
  if (const auto* array = array_around(indexes, id)) {
    return set_array_forgettable(state, indexes, array->first);
  }
  if (const Job* job = state.find_job(id)) set_forgettable(indexes, *job);
}

}  // namespace dove::core
