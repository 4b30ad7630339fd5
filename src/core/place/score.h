// Scores: where a task goes best, as whole numbers over what a node has free.
//
// A ScorePolicy is a constant (one file each in src/policies). From the mix of tasks to expect it
// prepares a Scorer, which is immutable and answers from its arguments alone: equal states of equal
// classes score the same, so one answer serves all nodes in that state (core/place/score_index.h).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/state/slices.h"
#include "model/resources.h"

namespace dove::core {

constexpr std::int32_t kModelsMax = 64;
constexpr std::uint64_t kAnyModel = ~std::uint64_t{0};
constexpr std::int32_t kNoTable = -1;  // the device cannot be cut

// What a node is, whatever it runs: nodes of one class differ only in what is free.
struct NodeClass {
  std::int32_t model = 0;  // of its devices: below kModelsMax; all devices of a node are alike
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t devices = 0;
  std::int32_t slice_table = kNoTable;  // of its devices, among slice_tables()
  auto operator<=>(const NodeClass&) const = default;
};

// What a task asks for on its one node.
struct TaskShape {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t devices = 0;       // or shares, of which a device may give several
  std::int32_t device_milli = 0;  // of each; below 1000: shares
  std::uint64_t models = kAnyModel;
  std::int32_t slices = 0;      // with any, devices == 0
  std::string_view slice = "";  // their profile, as a table names it
  auto operator<=>(const TaskShape&) const = default;

  bool is_share() const { return devices > 0 && device_milli < kWholeDevice_milli; }
  bool is_several_shares() const { return devices > 1 && is_share(); }
  std::int64_t gpus_milli() const { return std::int64_t{devices} * device_milli; }
};

// What is free on a node, and which kinds of tasks it hosts.
struct FreeState {
  NodeClass node_class;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::uint32_t hosts = 0;                  // kind_of() of each task there
  bool takes_more = true;                   // below its most tasks
  std::vector<std::int32_t> devices_milli;  // 0 of those that are cut
  std::vector<SlotSet> slots_taken;         // by device; empty: none is cut
  auto operator<=>(const FreeState&) const = default;

  std::int64_t gpus_milli() const;
  std::int32_t whole_devices() const;
};

FreeState all_free(const NodeClass& node_class);

// One bit for what a task asks of devices: a share, or a number of whole devices; no bit without
// devices.
std::uint32_t kind_of(const TaskShape& task);

bool fits(const FreeState& node, const TaskShape& task);

// How many devices its slices cut anew, as those that are cut are filled first
// (core/place/device_fit.h). None: there is no room. REQUIRES: task.slices > 0.
std::optional<std::int32_t> cuts_anew(const FreeState& node, const TaskShape& task);

// The device that a share leaves least of, the first of several. REQUIRES: fits(); a share.
std::int32_t tightest_device(const FreeState& node, const TaskShape& task);

// What is left. `device` is a share's; whole devices are the first ones that are wholly free.
// REQUIRES: fits(node, task), with the share on `device`; one share at most, and no slices.
void allocate(FreeState& node, const TaskShape& task, std::int32_t device);

constexpr std::int32_t kAnyDevice = -1;

struct Score {
  std::int64_t value = 0;            // higher is better
  std::int32_t device = kAnyDevice;  // for a share; kAnyDevice: as ties are broken
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  // REQUIRES: fits(node, task); the node's class was known to prepare; one share at most, and no
  // slices.
  virtual Score score(const FreeState& node, const TaskShape& task) const = 0;
};

// A task with slices scores as the whole devices that it cuts anew. A node where it cuts fewer
// scores higher, whatever the scorer says: slices on a device that is cut cost no device.
// REQUIRES: fits(node, task); the node's class was known to prepare; task.slices > 0.
Score score_of_slices(const Scorer& scorer, const FreeState& node, const TaskShape& task);

// Several shares score as one after the other, each on the device that is best for it then. The
// device is the first one's. REQUIRES: as above; task.is_several_shares().
Score score_of_shares(const Scorer& scorer, FreeState node, const TaskShape& task);

// A shape, and the number of tasks that have it.
struct MixEntry {
  TaskShape shape;
  std::int64_t count = 0;
};

// Which of the nodes with the best score is taken.
enum class Ties {
  kFirst,   // the first in the order of nodes
  kNext,    // the first behind the one taken last, around the end
  kRandom,  // any, each as likely
};

// What prepare looks at of the mix.
enum class Learns {
  kNothing,
  kSizes,  // all but the models that tasks name: its mix names none
  kTasks,
};

class ScorePolicy {
 public:
  virtual ~ScorePolicy() = default;
  virtual std::string_view name() const = 0;
  // What it was called in an earlier release; settings and old logs may still say so. "": never
  // anything else.
  virtual std::string_view former_name() const { return ""; }
  virtual Ties ties() const { return Ties::kFirst; }
  // Unless nothing, it is prepared again as the mix changes.
  virtual Learns learns() const { return Learns::kNothing; }
  // `mix` is what to expect, each shape once; classes are those of all nodes. Null: nothing is
  // gained by scores, the usual placement serves such a mix as well.
  virtual std::unique_ptr<const Scorer> prepare(std::span<const MixEntry> mix,
                                                std::span<const NodeClass> classes) const = 0;
};

}  // namespace dove::core
