// Machine: everything that is in this computer, with ids for its devices that stay.
//
// A device's id is its position in Inventory::devices, and tasks hold it by that. So a device that
// goes (it fell off the bus, its driver was unloaded) keeps its place as one of kind "lost", which
// nobody is given, and takes it again when it comes back; new ones are added at the end. The ids
// are kept in a file for as long as the machine is up. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "devices/accelerators.h"
#include "devices/cards.h"
#include "devices/host.h"
#include "devices/probe.h"

namespace dove::devices {

// Device::kind of one that is not there at the moment.
inline constexpr std::string_view kLost = "lost";

using DeviceFiles = std::vector<std::vector<std::string>>;

class Machine : public DeviceProbe {
 public:
  // `ids_path`: where ids are kept for the life `boot_id`; "": only in memory.
  Machine(std::unique_ptr<Host> host, std::vector<std::unique_ptr<Accelerators>> accelerators,
          std::string ids_path, std::string boot_id);

  // A driver that does not work is not an error of the machine: its devices are lost, and
  // driver_errors() says why.
  Result<Inventory> inventory() override;
  const std::vector<Error>& driver_errors() const { return driver_errors_; }
  // Ids of devices that are cut into slices, as inventory() found them.
  const std::vector<std::int32_t>& cut() const { return cut_; }

  // From then on inventory() looks for network cards too, below `sys_root` ("/sys").
  void look_for_cards(std::string sys_root) { sys_root_ = std::move(sys_root); }
  const Fabric& fabric() const { return fabric_; }
  // From then on inventory() looks for huge pages too: countables, which are no memory for others.
  // `kept`: bytes of them that are not offered.
  void look_for_huge_pages(std::string sys_root, std::vector<Countable> kept = {}) {
    pages_root_ = std::move(sys_root);
    pages_kept_ = std::move(kept);
  }

  // The files in /dev of each device, by id; none of one that is lost.
  const DeviceFiles& files() const { return files_; }

  std::vector<DeviceSample> sample();
  // See Accelerators::arrange. `device` is an id of inventory().
  Result<CutSlices> arrange(std::int32_t device, const std::vector<SlicePlace>& places);

 private:
  void read_ids();
  void write_ids() const;
  std::int32_t id_of(const FoundDevice& found, Accelerators& family);
  void find_fabric(const std::map<std::int32_t, std::string>& bus_ids);

  std::unique_ptr<Host> host_;
  std::vector<std::unique_ptr<Accelerators>> accelerators_;
  std::string ids_path_;
  std::string boot_id_;
  std::vector<Device> known_;            // by id; kind is kLost for those that are not there
  std::vector<Accelerators*> families_;  // by id, of those that were found in this process
  std::vector<Error> driver_errors_;
  std::vector<std::int32_t> cut_;
  DeviceFiles files_;
  std::string sys_root_;    // "": cards are not looked for
  std::string pages_root_;  // "": nor are huge pages
  std::vector<Countable> pages_kept_;
  Fabric fabric_;
};

}  // namespace dove::devices
