// Declared state: what an administrator says there shall be (dove apply). Reconciled, not scripted.
//
// Each object is known by (kind, name). Applying the same object twice changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/resources.h"
#include "model/time.h"

namespace dove {

// A set of nodes that jobs name together (Slurm: partition).
struct Pool {
  std::string name;
  std::vector<std::string> nodes;  // names or hostlists ("gpu-[001-004,7]"); "*" is every node
  bool is_default = false;
  Span time_limit_default;  // 0: none
  Span time_limit_max;      // 0: none
  bool open = true;         // false: jobs wait, nothing is started
  bool operator==(const Pool&) const = default;
};

// At most this much at once; -1 (or an absent countable) is no limit.
struct Limits {
  std::int32_t jobs_running = -1;
  std::int32_t jobs_waiting = -1;  // a submission over it is refused
  std::int32_t cores = -1;
  std::int32_t gpus_milli = -1;  // whole devices and shares together
  std::int64_t memory_bytes = -1;
  std::vector<Countable> countables;
  bool operator==(const Limits&) const = default;
};

struct Queue {
  std::string name;
  std::int32_t priority = 0;  // added to the job's
  Limits limits;
  bool open = true;  // false: submissions are refused
  bool operator==(const Queue&) const = default;
};

// What an administrator says of a node beyond what its agent finds.
struct NodeDeclaration {
  std::string name;
  bool drained = false;  // running work ends by itself, nothing new starts
  std::string drain_reason;
  std::vector<std::string> features;
  std::vector<Countable> countables;  // added to the inventory's
  std::int32_t cores_reserved = 0;    // the lowest ids, kept for the system
  std::int64_t memory_reserved_bytes = 0;
  bool operator==(const NodeDeclaration&) const = default;
};

struct UserLimit {
  std::string name;  // a user, or "*" for everybody without one of their own
  Limits limits;
  bool operator==(const UserLimit&) const = default;
};

// Who may call, and as whom their tasks run.
struct UserDeclaration {
  std::string name;
  std::string linux_user;  // "" : refuse to run tasks, except under `dove up`
  bool admin = false;
  std::string token_sha256;  // hex; "" : no token yet
  bool operator==(const UserDeclaration&) const = default;
};

// One object named "cluster".
struct ClusterSettings {
  std::string name = "dove";
  Span fence = seconds(5);               // a shim ends its task this long after the last renewal
  Span disconnect_grace = seconds(300);  // an agent renews this long without a controller
  Span silent_after = seconds(10);       // no word for this long: the node is silent
  Span effect_deadline = seconds(60);    // an order unanswered for this long has failed
  std::int32_t array_max = 10'000;
  std::int32_t jobs_max = 200'000;  // waiting and active together
  Span ended_jobs_kept = seconds(7 * 24 * 3600);
  std::int32_t ended_jobs_max = 100'000;
  std::vector<Countable> countables;  // cluster-wide totals: licences, watts
  bool operator==(const ClusterSettings&) const = default;
};

using Declared =
    std::variant<ClusterSettings, Pool, Queue, NodeDeclaration, UserLimit, UserDeclaration>;

}  // namespace dove
