// Plugged: devices that plug-ins report, as a family of the machine's.
//
// The thread of the plug-ins writes it, and the one that looks at devices reads it; safe for both.
// Resources that are not the family's (a network adapter, an FPGA) are countables of the node.
// What plug-ins ever brought is kept in a file: an agent that was restarted knows what is theirs
// before they have registered anew.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devices/accelerators.h"
#include "devices/kubelet/plugin_host.h"

namespace dove::devices::kubelet {

// What jobs ask for in place of a resource: "amd.com/gpu" is a device of vendor "amd".
struct PluggedModel {
  std::string resource;
  std::string model;              // "" : by the resource's last word ("tpu"; of "gpu" none)
  std::int64_t memory_bytes = 0;  // of each; 0: not known
};

// Shared by both threads.
class PlugBoard {
 public:
  // `path`: where names are kept; "": only in memory.
  explicit PlugBoard(std::vector<PluggedModel> models, std::string path = "");
  void set(std::vector<PluginDevices> devices);
  FoundDevices found() const;
  // The resource that a device of this id is of; "": no plug-in's.
  std::string resource_of(const std::string& uuid) const;
  // The healthy ones of a resource that is counted; nothing: no plug-in has brought it.
  std::optional<std::vector<std::string>> units_of(const std::string& resource) const;
  // Whether its plug-in lists any.
  bool is_here(const std::string& resource) const;

 private:
  const PluggedModel* model_of(const std::string& resource) const;
  void read();
  void write() const;

  const std::vector<PluggedModel> models_;
  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<PluginDevices> devices_;
  std::map<std::string, std::string> resources_;  // by device, of all that were ever there
  std::set<std::string> counted_;                 // resources, likewise
  std::set<std::string> unnamed_;                 // resources that jobs cannot ask for
};

class Plugged : public Accelerators {
 public:
  explicit Plugged(std::shared_ptr<const PlugBoard> board) : board_(std::move(board)) {}
  Result<FoundDevices> find() override { return board_->found(); }
  std::vector<DeviceSample> sample() override { return {}; }  // plug-ins report health only
  Result<CutSlices> arrange(const std::string& uuid,
                            const std::vector<SlicePlace>& places) override;

 private:
  std::shared_ptr<const PlugBoard> board_;
};

}  // namespace dove::devices::kubelet
