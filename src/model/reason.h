// Reason: one verified cause why a job waits. Structured; edges render the text (cli, server).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/time.h"

namespace dove {

enum class ReasonKind {
  kHeld,              // by whom: subject; `level`: an executor's job; or after `count` requeues
  kBeginTime,         // not before `until`; subject: what its last start did not get
  kDependency,        // waits for job `other`; subject names the kind ("afterok"); one of `count`
                      // that are each enough, the nearest
  kArrayLimit,        // `limit` elements run at once, `used` do
  kQueueLimit,        // subject: the queue; resource, needs, used, limit
  kUserLimit,         // subject: the user
  kClusterLimit,      // cluster-wide countable `resource`
  kPoolClosed,        // subject: the pool
  kTimeLimit,         // the job asks for more time than pool `subject` allows
  kResources,         // nodes have too little free: resource, needs, free (best node), total
  kNeverFits,         // no set of nodes of the pool could hold it even when empty
  kNodesUnavailable,  // matching nodes are drained, lost or silent: `count` of `total`
  kAhead,             // `count` jobs are ahead, the next being `other`: by `resource` ("priority",
                      // "submission", "share" and
                      // "past_use" in 10^9ths, "guarantee", "band", "head", "sum" of an order
                      // in minutes, or an order's name), of which this one has `needs` and the
                      // other `used`; subject: a queue that lets nothing pass;
                      // `limit`: only this number of jobs was looked at
  kExcluded,          // nodes wanted or excluded by the job leave `count`
  kProjectLimit,      // subject: the project; submissions over it are refused
  kDomain,      // no one unit of `level` has room: needs; of the best: free, total can be used
  kFragmented,  // enough is free, but of it only `total` can be used: the rest is in pieces on
                // `count` nodes, held most by job `other`
  kLabels,      // labels of jobs allow `count` of `total` nodes; subject: which labels
  kPromised,    // what is free is promised to `other` from `until` on: it is not gone by then
  kReserved,  // what is free is reserved as `subject` from `until` on; as spare nodes for gangs of
              // `count` nodes
  kReservation,  // the job's own reservation `subject`: unknown, closed to it, over, or not
                 // open before `until`; or it has `total` nodes, and the job `needs` others
  kNoPlan,       // no start can be promised: `count` running jobs have no time limit
  kPreemption,   // `count` running jobs could be stopped for it, `other` first (or an executor's
                 // own, `subject`), from `until` on (0: now); of `total` that come into question,
                 // `used` are preemptible
  kForeign,      // `subject` ("slurm job 1234 of ada") holds `resource` ("gpu 0,2") on node
                 // `level` until `until` (kNever: nobody knows); with `count` others of its kind
  kExecutor,     // executor `subject`, which is to run the job, takes none on the `total` nodes of
                 // pool `level` that it has, of which `count` are lent to it: by `resource` it is
                 // "undeclared", "silent", "mute", without "nodes", "lent" nothing, or "down" there
  kDomainLimit,  // subject: the domain; submissions over it are refused
};

// What a unit of the topology has free, and how much of that the job's tasks could use.
struct UnitRoom {
  std::string unit;
  std::int64_t free = 0;
  std::int64_t usable = 0;
};

struct Reason {
  ReasonKind kind = ReasonKind::kResources;
  std::string subject;
  // "cores", "memory_bytes", "gpus", "share_milli", "nodes", "slice:1g.10gb", or a countable; see
  // kAhead. A limit also has "gpu_ms_month" (GPUs times milliseconds of the month that ends at
  // `until`); that of one job has "job_cores", "job_gpus_milli", "job_memory_bytes".
  std::string resource;
  std::int64_t needs = 0;
  std::int64_t free = 0;
  std::int64_t used = 0;
  std::int64_t limit = 0;
  std::int64_t total = 0;
  std::int64_t count = 0;
  JobId other;
  Instant until;
  std::string level;            // of the topology, that `units` are of
  std::vector<UnitRoom> units;  // the best ones first, a few
};

}  // namespace dove
