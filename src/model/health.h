// Health: what checks find out about nodes, and where a node is in its life.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "model/time.h"

namespace dove {

enum class Severity {
  kGood,      // the check finds nothing, or nothing any more
  kWarning,   // shown and counted; takes nothing away
  kFault,     // the device, or else the node, takes no new work; what runs may end
  kCritical,  // what runs there cannot be trusted: it is stopped and runs again elsewhere
};

// What may help, in the order in which it is tried.
enum class Remedy {
  kNone,     // somebody must look
  kReset,    // of the devices
  kReboot,   // of the machine
  kReplace,  // of hardware, by people
  kUpgrade,  // of drivers or of the system; nothing may run
  kAgent,    // upgrade of the agent; tasks go on
};

// What one check says of a node or of one of its devices. Known by (check, device): a later one
// takes the place of the former.
struct Finding {
  std::string check;  // "xid", "disk", "clock", "script:NAME", ...
  Severity severity = Severity::kGood;
  Remedy remedy = Remedy::kNone;
  std::int32_t device = -1;  // index into Inventory::devices; -1: the node
  std::string evidence;      // what was seen, with numbers, for people
  bool operator==(const Finding&) const = default;
};

// Where a node is in its life. Only in production it takes jobs.
enum class LifeStage {
  kProduction,
  kOnboard,   // has joined and was never tested
  kTest,      // its agent runs the tests
  kSuspect,   // a fault is open
  kDraining,  // waits until nothing runs
  kRepair,    // a remedy is under way, or people are
};

// What the test or the remedy that a node was told to do came to.
enum class Answer { kAwaited, kDone, kFailed };

// What an administrator wants done with a node.
enum class NodeAction { kNone, kDrain, kReboot, kUpgrade, kUpgradeAgent, kResume, kExpel };

// A wish that stands until it is met. What runs may end by itself until `by`, or not at all when
// `now`.
struct NodeRequest {
  NodeAction action = NodeAction::kNone;
  bool now = false;
  Instant by;  // 0: however long it takes
  std::string why;
  std::string who;
  bool operator==(const NodeRequest&) const = default;
};

}  // namespace dove
