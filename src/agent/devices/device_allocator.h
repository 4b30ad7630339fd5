// DeviceAllocator: asks vendor plug-ins, before an attempt starts, what its tasks need in order to
// use their devices.
//
// It asks for each set of devices that a task of the attempt gets, and for all of them together.
// For resources that the ledger only counts (network cards, FPGAs) it chooses the first free units,
// for all tasks of the attempt together; they belong to the attempt until it ends. The latest
// answer for a set is kept, also over a restart of the agent, because a step that starts later
// needs it. An attempt whose plug-in is absent (the agent or the plug-in was just restarted) waits
// for it, kPlugin_limit at most, and never starts without it. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/attempts/order.h"
#include "base/result.h"
#include "containers/cdi.h"
#include "model/node.h"
#include "model/placement.h"
#include "wire/loop.h"

namespace dove::agent {

// Plug-ins register anew within seconds; half of the default effect_deadline is left for the rest.
inline constexpr std::chrono::seconds kPlugin_limit{30};

struct DeviceEdits {
  containers::CdiEdits edits;  // a plain process gets variables and device files alone
  std::vector<std::string> cdi_devices;
  std::map<std::string, std::string> annotations;
  void add(const DeviceEdits& more);
};

class DeviceAllocator {
 public:
  using Done = std::function<void(Result<DeviceEdits>)>;
  // `resource_of`: whose plug-in brought a device of this UUID, in this life of the agent or a
  // former one; "": it is no plug-in's. `ask`: of some that are; `done` is called later, on the
  // loop.
  struct Plugins {
    std::function<std::string(const std::string& uuid)> resource_of;
    std::function<void(std::vector<std::string> uuids, Done done)> ask;
    // What there is of a resource that the ledger only counts, healthy and in the order in which a
    // placement gets them; nothing: no plug-in ever brought it.
    std::function<std::optional<std::vector<std::string>>(const std::string& resource,
                                                          const Placement& placement)>
        units = {};
    std::function<void(const std::string& resource, std::vector<std::string> ids, Done done)>
        ask_units = {};
    // Whether the plug-in of a resource has registered and listed what it has; unset: all have.
    std::function<bool(const std::string& resource)> is_here = {};
    // What is held here and has not ended; it may be asked about while it is.
    std::function<std::map<AttemptKey, const Placement*>()> holders = {};
    std::function<wire::Timer(std::chrono::milliseconds, std::function<void()>)> after = {};
  };

  // `path`: where answers are kept; "": nowhere.
  DeviceAllocator(Plugins plugins, std::string path);

  bool needs(const Placement& placement, const Inventory& inventory) const;
  bool is_under_way(AttemptKey key) const { return under_way_.count(key) != 0; }
  std::vector<AttemptKey> under_way() const;
  // Asks, once all plug-ins that it needs are here, then calls `done`, unless the attempt was
  // dropped meanwhile. REQUIRES: needs(placement), !is_under_way(key).
  void allocate(AttemptKey key, const Placement& placement, const Inventory& inventory,
                std::function<void(Result<void>)> done);
  // It starts with what it counts, of which no plug-in is known: one that comes later cannot tell
  // what it uses. REQUIRES: !needs(placement).
  void begins_without(AttemptKey key, const Placement& placement);
  // Plug-ins or devices may have changed: asks for the attempts that waited for them.
  void look(const Inventory& inventory);
  // It is not to start any more.
  void drop(AttemptKey key) { under_way_.erase(key); }

  // What was answered for these devices; nullptr: nothing.
  const DeviceEdits* find(const std::vector<DeviceGrant>& grants) const;
  // What was answered for the units that this attempt has; nullptr: it has none.
  const DeviceEdits* find_units(AttemptKey key) const;
  // The units of the resource that this attempt has; nullptr: it has none.
  const std::vector<std::string>* units_of(AttemptKey key, std::string_view resource) const;

 private:
  using Set = std::vector<std::int32_t>;  // ids, ascending
  struct Asking {
    std::size_t left = 0;
    std::string failed;
    std::function<void(Result<void>)> done;
    std::optional<Placement> waits_with = {};  // for plug-ins that are away
    wire::Timer limit = {};
  };
  // By resource; none of one that had no plug-in.
  using Units = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Counted {
    Units units;
    DeviceEdits edits;
  };
  std::vector<std::string> plugged_of(const Set& set, const Inventory& inventory) const;
  std::set<std::string> away(const Placement& placement, const Inventory& inventory) const;
  void wait(AttemptKey key, const std::set<std::string>& away);
  void ask(AttemptKey key, const Placement& placement, const Inventory& inventory);
  using Holders = std::map<AttemptKey, const Placement*>;
  std::string why_unknown(const std::string& resource, const Holders& holders) const;
  Holders living(AttemptKey but);
  Result<Units> choose(AttemptKey key, const Placement& placement);
  void answered(AttemptKey key, const Set& set, const Result<DeviceEdits>& answer);
  void one_less(AttemptKey key, const Result<DeviceEdits>& answer);
  void end(AttemptKey key);
  void read();
  void write() const;

  Plugins plugins_;
  std::string path_;
  std::map<Set, DeviceEdits> answers_;
  std::map<AttemptKey, Counted> counted_;
  std::map<AttemptKey, Asking> under_way_;
};

}  // namespace dove::agent
