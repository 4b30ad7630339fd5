// DeviceAllocator: has the plug-ins of vendors say, before an attempt starts, what tasks need that
// were given their devices.
//
// Asked for each set of devices that a task of the attempt is given, and for all of them together.
// Of resources that the ledger only counts (network adapters, FPGAs) the first free units are
// chosen here, for all tasks of the attempt together; they are its own until it ends. The latest
// answer for a set is kept, over a restart of the agent too: a step that starts later needs it.
// Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/order.h"
#include "base/result.h"
#include "containers/cdi.h"
#include "model/node.h"
#include "model/placement.h"

namespace dove::agent {

struct DeviceEdits {
  containers::CdiEdits edits;  // a plain process gets variables and device files alone
  std::vector<std::string> cdi_devices;
  std::map<std::string, std::string> annotations;
  void add(const DeviceEdits& more);
};

class DeviceAllocator {
 public:
  using Done = std::function<void(Result<DeviceEdits>)>;
  // `plugged`: whether a device of this UUID is a plug-in's. `ask`: of some that are; `done` is
  // called later, on the loop.
  struct Plugins {
    std::function<bool(const std::string& uuid)> plugged;
    std::function<void(std::vector<std::string> uuids, Done done)> ask;
    // What a plug-in has of a resource that the ledger only counts, healthy and in the order in
    // which they are given; nothing: it is no plug-in's.
    std::function<std::optional<std::vector<std::string>>(const std::string& resource)> units = {};
    std::function<void(const std::string& resource, std::vector<std::string> ids, Done done)>
        ask_units = {};
    std::function<bool(AttemptKey key)> lives = {};  // it is held here, and has not ended
  };

  // `path`: where answers are kept; "": nowhere.
  DeviceAllocator(Plugins plugins, std::string path);

  bool needs(const Placement& placement, const Inventory& inventory) const;
  bool is_under_way(AttemptKey key) const { return under_way_.count(key) != 0; }
  // Asks, then calls `done`, unless the attempt was dropped meanwhile. REQUIRES: needs(placement),
  // !is_under_way(key).
  void allocate(AttemptKey key, const Placement& placement, const Inventory& inventory,
                std::function<void(Result<void>)> done);
  // It is not to start any more.
  void drop(AttemptKey key) { under_way_.erase(key); }

  // What was answered for these devices; nullptr: nothing.
  const DeviceEdits* find(const std::vector<DeviceGrant>& grants) const;
  // What was answered for the units that this attempt has; nullptr: it has none.
  const DeviceEdits* find_units(AttemptKey key) const;

 private:
  using Set = std::vector<std::int32_t>;  // ids, ascending
  struct Asking {
    std::size_t left = 0;
    std::string failed;
    std::function<void(Result<void>)> done;
  };
  using Units = std::map<std::string, std::vector<std::string>>;  // by resource
  struct Counted {
    Units units;
    DeviceEdits edits;
  };
  std::vector<std::string> plugged_of(const Set& set, const Inventory& inventory) const;
  Result<Units> choose(AttemptKey key, const std::vector<Countable>& wanted);
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
