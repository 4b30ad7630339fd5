// The part of a node that is lent to an executor, for a job that it is to run there.
//
// Administrators declare it (Executor::lendable) as the devices, cores and memory that the
// executor's work may hold at once. The rest of the node stays with our agents. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/place/fit.h"
#include "core/state/state.h"

namespace dove::core {

using Executors = std::map<std::string, Executor>;

// Whether it is lent anything of the node: the first entry that names the node says what.
bool is_lent(const Executor& executor, const std::string& node);

// What the executor's work on a node holds of what it is lent there, as amounts. Devices are lent
// by id, so they are not among these.
struct LentHeld {
  std::int64_t cores = 0;
  std::int64_t memory_bytes = 0;
};

// What it is lent of the node; null: all of it.
const Lendable* lendable_on(const Executor& executor, const Node& node);
// Whether what it holds there counts: where it is lent some amount, but not all that there is.
bool counts_held(const Lendable& lendable);

// The part of `free` that the executor may take for one more job.
FreeBooks lent_books(const Executor& executor, const Lendable& lendable, const Node& node,
                     const LentHeld& held, const FreeView& free);
// The same for a job that starts now; none: all of it. `jobs`: those on the node, which it may be
// running there; null: the node is taken as empty.
std::optional<FreeBooks> lent_books(const Executor& executor, const Node& node,
                                    const IdMap<JobId, Job>* jobs, const FreeView& free);

}  // namespace dove::core
