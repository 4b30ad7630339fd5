#include "programs/plugin_devices.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "devices/emulated/inventory_file.h"

namespace dove::programs {
namespace {

namespace kubelet = devices::kubelet;

Result<agent::DeviceEdits> edits_of(const kubelet::Allocation& allocation) {
  agent::DeviceEdits out;
  out.edits.environment.assign(allocation.environment.begin(), allocation.environment.end());
  for (const kubelet::PluginFile& file : allocation.files) {
    if (file.container_path != file.host_path) {
      return Error{ErrorKind::kInvalid, "device_plugin",
                   fmt::format("a device plug-in wants {} to be {} in containers; a device file "
                               "has the same path outside and inside here",
                               file.host_path, file.container_path),
                   file.host_path};
    }
    out.edits.devices.push_back(file.host_path);
  }
  for (const kubelet::PluginMount& mount : allocation.mounts) {
    out.edits.mounts.push_back({mount.host_path, mount.container_path, !mount.read_only});
  }
  out.cdi_devices = allocation.cdi_devices;
  out.annotations = allocation.annotations;
  return out;
}

}  // namespace

Result<std::vector<kubelet::PluggedModel>> plugged_models(const std::string& text) {
  std::vector<kubelet::PluggedModel> models;
  std::stringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    kubelet::PluggedModel model;
    const std::size_t equals = one.find('=');
    model.resource = one.substr(0, equals);
    if (equals != std::string::npos) {
      const std::string what = one.substr(equals + 1);
      const std::size_t colon = what.find(':');
      model.model = what.substr(0, colon);
      if (colon != std::string::npos) {
        TRY_ASSIGN(const Inventory sized,
                   devices::emulated::parse_inventory("memory: " + what.substr(colon + 1),
                                                      "--plugin-gpus"));
        model.memory_bytes = sized.memory_bytes;
      }
    }
    if (model.resource.find('/') == std::string::npos) {
      return Error{ErrorKind::kInvalid, "bad_setting",
                   fmt::format("--plugin-gpus: '{}' is not of the form VENDOR/RESOURCE[=MODEL[:"
                               "MEMORY]], as in google.com/tpu=TPUv5:16Gi",
                               one),
                   "--plugin-gpus"};
    }
    models.push_back(std::move(model));
  }
  return models;
}

PluginDevices::PluginDevices(wire::Loop& loop, std::string directory,
                             std::shared_ptr<kubelet::PlugBoard> board,
                             std::function<void()> changed)
    : board_(std::move(board)),
      host_(loop, kubelet::PluginHostOptions{std::move(directory)},
            [this, changed = std::move(changed)](std::vector<kubelet::PluginDevices> devices) {
              board_->set(std::move(devices));
              changed();
            }) {}

agent::DeviceAllocator::Plugins PluginDevices::plugins() {
  return {
      [this](const std::string& uuid) { return board_->resource_of(uuid); },
      [this](const std::vector<std::string>& uuids, agent::DeviceAllocator::Done done) {
        ask(uuids, std::move(done));
      },
      [this](const std::string& resource, const Placement&) { return board_->units_of(resource); },
      [this](const std::string& resource, const std::vector<std::string>& ids,
             const agent::DeviceAllocator::Done& done) {
        host_.allocate(resource, ids, [done](const Result<kubelet::Allocation>& answer) {
          done(answer.ok() ? edits_of(*answer) : Result<agent::DeviceEdits>(answer.error()));
        });
      },
      [this](const std::string& resource) { return board_->is_here(resource); }};
}

// Each resource's plug-in for its own.
void PluginDevices::ask(const std::vector<std::string>& uuids, agent::DeviceAllocator::Done done) {
  std::map<std::string, std::vector<std::string>> by_resource;
  for (const std::string& uuid : uuids) by_resource[board_->resource_of(uuid)].push_back(uuid);
  struct Gathered {
    agent::DeviceEdits edits;
    std::size_t left = 0;
    std::optional<Error> failed;
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->left = by_resource.size();
  for (const auto& [resource, ids] : by_resource) {
    host_.allocate(resource, ids, [gathered, done](const Result<kubelet::Allocation>& answer) {
      if (answer.ok()) {
        const Result<agent::DeviceEdits> edits = edits_of(*answer);
        if (edits.ok()) gathered->edits.add(*edits);
        if (!edits.ok()) gathered->failed = edits.error();
      } else {
        gathered->failed = answer.error();
      }
      if (--gathered->left > 0) return;
      if (gathered->failed) return done(*gathered->failed);
      done(gathered->edits);
    });
  }
}

}  // namespace dove::programs
