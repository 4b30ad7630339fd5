#include "devices/hwloc/hwloc_host.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dove::devices::hwloc {

struct HwlocHost::Topology {
  hwloc_topology_t handle = nullptr;

  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  ~Topology() {
    if (handle != nullptr) hwloc_topology_destroy(handle);
  }

  // Bridges are kept: they tell how far two devices are from one another.
  Result<void> load(const std::string& xml) {
    bool ready = hwloc_topology_init(&handle) == 0;
    // What asks drivers of accelerators is not ours to load here; one that is not installed is no
    // matter.
    for (const char* name : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"}) {
      if (ready) {
        hwloc_topology_set_components(handle, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
      }
    }
    ready = ready &&
            (xml.empty() || hwloc_topology_set_xmlbuffer(handle, xml.c_str(),
                                                         static_cast<int>(xml.size() + 1)) == 0) &&
            hwloc_topology_set_io_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
            hwloc_topology_load(handle) == 0;
    if (ready) return {};
    return Error{ErrorKind::kInternal, "hwloc",
                 "hwloc cannot read this machine's topology (" + std::string(std::strerror(errno)) +
                     "); compare with what `lstopo` prints",
                 ""};
  }

  hwloc_obj_t device(const std::string& bus_id) const {
    return bus_id.empty() ? nullptr : hwloc_get_pcidev_by_busidstring(handle, bus_id.c_str());
  }
};

namespace {

struct Bitmap {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  Bitmap() = default;
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
  ~Bitmap() { hwloc_bitmap_free(set); }
};

bool is_bridge(hwloc_obj_t object) { return object->type == HWLOC_OBJ_BRIDGE; }

bool is_host_bridge(hwloc_obj_t object) {
  return is_bridge(object) && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

int depth_of(hwloc_obj_t object) {
  int depth = 0;
  for (; object->parent != nullptr; object = object->parent) ++depth;
  return depth;
}

// The lowest object that is above both; I/O objects have no depths of their own.
hwloc_obj_t common_parent(hwloc_obj_t a, hwloc_obj_t b) {
  int depth_a = depth_of(a);
  int depth_b = depth_of(b);
  for (; depth_a > depth_b; --depth_a) a = a->parent;
  for (; depth_b > depth_a; --depth_b) b = b->parent;
  while (a != b) {
    a = a->parent;
    b = b->parent;
  }
  return a;
}

// Bridges from a device up to `top`, which is not counted.
int bridges_below(hwloc_obj_t object, hwloc_obj_t top) {
  int count = 0;
  for (object = object->parent; object != nullptr && object != top; object = object->parent) {
    count += is_bridge(object) ? 1 : 0;
  }
  return count;
}

// The threads of each core, in hwloc's order. Nothing where the cores have different numbers of
// threads, and where the ids are those of cores, from 0 on.
void add_thread_order(hwloc_topology_t handle, Inventory& found) {
  std::vector<std::int32_t> order;
  int each = 0;
  const int cores = hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_CORE);
  for (int i = 0; i < cores; ++i) {
    const hwloc_obj_t core =
        hwloc_get_obj_by_type(handle, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    const int threads = hwloc_bitmap_weight(core->cpuset);
    if (i > 0 && threads != each) return;
    each = threads;
    unsigned thread = 0;
    hwloc_bitmap_foreach_begin(thread, core->cpuset) {
      order.push_back(static_cast<std::int32_t>(thread));
    }
    hwloc_bitmap_foreach_end();
  }
  const auto is_plain = [&] {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] != static_cast<std::int32_t>(i)) return false;
    }
    return each == 1;
  };
  if (each < 1 || is_plain()) return;
  found.thread_order = std::move(order);
  found.threads_per_core = each;
}

}  // namespace

HwlocHost::HwlocHost(std::unique_ptr<Topology> topology) : topology_(std::move(topology)) {}
HwlocHost::~HwlocHost() = default;

Result<std::unique_ptr<HwlocHost>> HwlocHost::make() { return from_xml(""); }

Result<std::unique_ptr<HwlocHost>> HwlocHost::from_xml(const std::string& xml) {
  auto topology = std::make_unique<Topology>();
  TRY(topology->load(xml));
  return std::unique_ptr<HwlocHost>(new HwlocHost(std::move(topology)));
}

Result<Inventory> HwlocHost::inventory() {
  const hwloc_topology_t handle = topology_->handle;
  const Bitmap usable;
  const bool is_bound = hwloc_topology_is_thissystem(handle) != 0 &&
                        hwloc_get_cpubind(handle, usable.set, HWLOC_CPUBIND_PROCESS) == 0;
  Inventory found;
  const int nodes = hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_NUMANODE);
  for (int i = 0; i < nodes; ++i) {
    const hwloc_obj_t object =
        hwloc_get_obj_by_type(handle, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
    NumaNode numa;
    numa.memory_bytes = static_cast<std::int64_t>(object->attr->numanode.local_memory);
    unsigned core = 0;
    hwloc_bitmap_foreach_begin(core, object->cpuset) {
      if (is_bound && hwloc_bitmap_isset(usable.set, core) == 0) continue;
      // A core that is beside several kinds of memory counts once, at the first.
      const auto has = [&](const NumaNode& other) {
        return other.cores.contains(static_cast<std::int32_t>(core));
      };
      if (std::none_of(found.numa.begin(), found.numa.end(), has)) {
        numa.cores.insert(static_cast<std::int32_t>(core));
      }
    }
    hwloc_bitmap_foreach_end();
    found.memory_bytes += numa.memory_bytes;
    found.numa.push_back(std::move(numa));
  }
  add_thread_order(handle, found);
  return found;
}

std::int32_t HwlocHost::numa_of(const std::string& pci_bus_id) const {
  const hwloc_obj_t device = topology_->device(pci_bus_id);
  if (device == nullptr) return -1;
  const hwloc_obj_t beside = hwloc_get_non_io_ancestor_obj(topology_->handle, device);
  if (beside == nullptr || beside->nodeset == nullptr) return -1;
  // Beside the whole machine: nothing is known, unless there is only one place to be.
  const int nodes = hwloc_get_nbobjs_by_type(topology_->handle, HWLOC_OBJ_NUMANODE);
  if (nodes > 1 && beside->parent == nullptr) return -1;
  for (int i = 0; i < nodes; ++i) {
    const hwloc_obj_t node =
        hwloc_get_obj_by_type(topology_->handle, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
    if (hwloc_bitmap_isset(beside->nodeset, node->os_index) != 0) return i;
  }
  return -1;
}

std::string HwlocHost::path(const std::string& bus_id_a, const std::string& bus_id_b) const {
  const hwloc_obj_t a = topology_->device(bus_id_a);
  const hwloc_obj_t b = topology_->device(bus_id_b);
  if (a == nullptr || b == nullptr || a == b) return "";
  const hwloc_obj_t top = common_parent(a, b);
  if (is_host_bridge(top)) return "PHB";
  if (is_bridge(top)) {
    return bridges_below(a, top) + bridges_below(b, top) <= 2 ? "PIX" : "PXB";
  }
  return numa_of(bus_id_a) >= 0 && numa_of(bus_id_a) == numa_of(bus_id_b) ? "NODE" : "SYS";
}

}  // namespace dove::devices::hwloc
