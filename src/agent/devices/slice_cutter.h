// SliceCutter: has devices cut for an attempt before it starts.
//
// The ledger grants slices by their positions. Each device of an attempt is brought here to have
// exactly the slices of all attempts that hold it, or to be whole again. Orders may come twice and
// agents restart, so a request describes a state, not a change. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/attempts/order.h"
#include "base/result.h"
#include "devices/accelerators.h"
#include "model/placement.h"

namespace dove::agent {

// Slices by their device and first slot.
using Slices = std::map<std::pair<std::int32_t, std::int32_t>, devices::CutSlice>;

class SliceCutter {
 public:
  // See devices::DeviceWatch::arrange. `done` is called on the loop, later, in the order of the
  // calls.
  using Arrange = std::function<void(std::int32_t device, std::vector<SlicePlace> places,
                                     std::function<void(Result<devices::CutSlices>)> done)>;

  // `path`: where slices are kept over a restart of the agent; "": nowhere.
  SliceCutter(Arrange arrange, std::string path);

  // Devices that are cut at the moment, as somebody found them.
  void saw_cut(std::vector<std::int32_t> devices);
  // Whether something must be cut before tasks of this placement can start: it has slices, or a
  // device that is cut and is to be whole.
  bool needs(const Placement& placement) const;
  bool is_under_way(AttemptKey key) const { return under_way_.count(key) != 0; }
  // Cuts for `placement` beside what is `held` by others, then calls `done`, unless the attempt was
  // dropped meanwhile. REQUIRES: needs(placement), !is_under_way(key).
  void cut(AttemptKey key, const Placement& placement, const std::vector<const Placement*>& held,
           std::function<void(Result<void>)> done);
  // It is not to start any more.
  void drop(AttemptKey key) { under_way_.erase(key); }

  const Slices& slices() const { return slices_; }

 private:
  struct Cutting {
    Placement placement;
    std::size_t devices_left = 0;
    std::string failed;
    std::function<void(Result<void>)> done;
  };

  std::vector<SlicePlace> places_on(std::int32_t device,
                                    const std::vector<const Placement*>& held) const;
  void arranged(AttemptKey key, std::int32_t device, const std::vector<SlicePlace>& places,
                const Result<devices::CutSlices>& slices);
  void read_slices();
  void write_slices() const;

  Arrange arrange_;
  std::string path_;
  std::set<std::int32_t> cut_;
  std::map<AttemptKey, Cutting> under_way_;
  Slices slices_;
};

}  // namespace dove::agent
