// Reason: one verified cause why a job waits. Structured; edges render the text (cli, server).
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "model/time.h"

namespace dove {

enum class ReasonKind {
  kHeld,              // by whom: subject; or after `count` requeues in a row
  kBeginTime,         // not before `until`
  kDependency,        // waits for job `other`; subject names the kind ("afterok")
  kArrayLimit,        // `limit` elements run at once, `used` do
  kQueueLimit,        // subject: the queue; resource, needs, used, limit
  kUserLimit,         // subject: the user
  kClusterLimit,      // cluster-wide countable `resource`
  kPoolClosed,        // subject: the pool
  kTimeLimit,         // the job asks for more time than pool `subject` allows
  kResources,         // nodes have too little free: resource, needs, free (best node), total
  kNeverFits,         // no set of nodes of the pool could hold it even when empty
  kNodesUnavailable,  // matching nodes are drained, lost or silent: `count` of `total`
  kAhead,             // `count` jobs are ahead, the next being `other`
  kExcluded,          // nodes wanted or excluded by the job leave `count`
  kProjectLimit,      // subject: the project; submissions over it are refused
};

struct Reason {
  ReasonKind kind = ReasonKind::kResources;
  std::string subject;
  std::string resource;  // "cores", "memory_bytes", "gpus", "share_milli", "nodes",
                         // "slice:1g.10gb", or a countable
  std::int64_t needs = 0;
  std::int64_t free = 0;
  std::int64_t used = 0;
  std::int64_t limit = 0;
  std::int64_t total = 0;
  std::int64_t count = 0;
  JobId other;
  Instant until;
};

}  // namespace dove
