#include "devices/nvml/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <initializer_list>

namespace dove::devices::nvml {
namespace {

// The layouts of the ABI on 64-bit Linux.
static_assert(sizeof(PciInfo) == 68);
static_assert(sizeof(MemoryV2) == 40);
static_assert(sizeof(FieldValue) == 40);
static_assert(sizeof(EventData) == 32);
static_assert(sizeof(InstanceProfile) == 48);
static_assert(sizeof(InstanceInfo) == 24);
static_assert(sizeof(ComputeProfile) == 36);
static_assert(sizeof(GpmMetric) == 40);
static_assert(offsetof(GpmMetrics, metrics) == 24);

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  // The first of these names, without "nvml", that there is.
  template <class Function>
  void find(Function*& to, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      to = reinterpret_cast<Function*>(dlsym(library_, (std::string("nvml") + name).c_str()));
      if (to != nullptr) return;
    }
  }

 private:
  void* library_;
};

void find_readings(const Symbols& in, Calls& to) {
  in.find(to.clock, {"DeviceGetClockInfo"});
  in.find(to.temperature, {"DeviceGetTemperature"});
  in.find(to.power, {"DeviceGetPowerUsage"});
  in.find(to.energy, {"DeviceGetTotalEnergyConsumption"});
  in.find(to.utilization, {"DeviceGetUtilizationRates"});
  in.find(to.encoder, {"DeviceGetEncoderUtilization"});
  in.find(to.decoder, {"DeviceGetDecoderUtilization"});
  in.find(to.pcie_replays, {"DeviceGetPcieReplayCounter"});
  in.find(to.pcie_throughput, {"DeviceGetPcieThroughput"});
  in.find(to.remapped_rows, {"DeviceGetRemappedRows"});
  in.find(to.ecc_errors, {"DeviceGetTotalEccErrors"});
  in.find(to.violation, {"DeviceGetViolationStatus"});
  in.find(to.fields, {"DeviceGetFieldValues"});
  in.find(to.licenses, {"DeviceGetGridLicensableFeatures_v4"});
  in.find(to.gpm_support, {"GpmQueryDeviceSupport"});
  in.find(to.gpm_alloc, {"GpmSampleAlloc"});
  in.find(to.gpm_free, {"GpmSampleFree"});
  in.find(to.gpm_sample, {"GpmSampleGet"});
  in.find(to.gpm_metrics, {"GpmMetricsGet"});
  in.find(to.event_set, {"EventSetCreate"});
  in.find(to.event_set_free, {"EventSetFree"});
  in.find(to.register_events, {"DeviceRegisterEvents"});
  in.find(to.wait_event, {"EventSetWait_v2"});
}

void find_slicing(const Symbols& in, Calls& to) {
  in.find(to.mig_mode, {"DeviceGetMigMode"});
  in.find(to.set_mig_mode, {"DeviceSetMigMode"});
  in.find(to.instance_profile, {"DeviceGetGpuInstanceProfileInfo"});
  in.find(to.possible_placements,
          {"DeviceGetGpuInstancePossiblePlacements_v2", "DeviceGetGpuInstancePossiblePlacements"});
  in.find(to.create_instance, {"DeviceCreateGpuInstanceWithPlacement"});
  in.find(to.destroy_instance, {"GpuInstanceDestroy"});
  in.find(to.instances, {"DeviceGetGpuInstances"});
  in.find(to.instance_info, {"GpuInstanceGetInfo"});
  in.find(to.compute_profile, {"GpuInstanceGetComputeInstanceProfileInfo"});
  in.find(to.create_compute, {"GpuInstanceCreateComputeInstance"});
  in.find(to.destroy_compute, {"ComputeInstanceDestroy"});
  in.find(to.computes, {"GpuInstanceGetComputeInstances"});
  in.find(to.slice_count_max, {"DeviceGetMaxMigDeviceCount"});
  in.find(to.slice_by_index, {"DeviceGetMigDeviceHandleByIndex"});
  in.find(to.slice_instance, {"DeviceGetGpuInstanceId"});
  in.find(to.slice_compute, {"DeviceGetComputeInstanceId"});
}

void find_all(const Symbols& in, Calls& to) {
  in.find(to.init, {"Init_v2", "Init"});
  in.find(to.shutdown, {"Shutdown"});
  in.find(to.error_text, {"ErrorString"});
  in.find(to.driver_version, {"SystemGetDriverVersion"});
  in.find(to.count, {"DeviceGetCount_v2", "DeviceGetCount"});
  in.find(to.by_index, {"DeviceGetHandleByIndex_v2", "DeviceGetHandleByIndex"});
  in.find(to.name, {"DeviceGetName"});
  in.find(to.uuid, {"DeviceGetUUID"});
  in.find(to.minor_number, {"DeviceGetMinorNumber"});
  in.find(to.pci, {"DeviceGetPciInfo_v3"});
  in.find(to.memory, {"DeviceGetMemoryInfo"});
  in.find(to.memory_v2, {"DeviceGetMemoryInfo_v2"});
  in.find(to.memory_affinity, {"DeviceGetMemoryAffinity"});
  in.find(to.common_ancestor, {"DeviceGetTopologyCommonAncestor"});
  in.find(to.nvlink_state, {"DeviceGetNvLinkState"});
  in.find(to.nvlink_remote, {"DeviceGetNvLinkRemotePciInfo_v2"});
  find_readings(in, to);
  find_slicing(in, to);
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(const std::string& path) {
  std::unique_ptr<Library> library(new Library);
  library->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->library_ == nullptr) {
    const char* why = dlerror();
    return Error{ErrorKind::kNotFound, "no_nvml",
                 fmt::format("{} cannot be loaded: {}", path, why == nullptr ? "" : why), path};
  }
  Calls& calls = library->calls_;
  find_all(Symbols(library->library_), calls);
  for (const auto* needed :
       {reinterpret_cast<void*>(calls.init), reinterpret_cast<void*>(calls.shutdown),
        reinterpret_cast<void*>(calls.count), reinterpret_cast<void*>(calls.by_index),
        reinterpret_cast<void*>(calls.name), reinterpret_cast<void*>(calls.uuid),
        reinterpret_cast<void*>(calls.pci), reinterpret_cast<void*>(calls.memory)}) {
    if (needed != nullptr) continue;
    return Error{ErrorKind::kInvalid, "old_nvml",
                 path + " lacks functions that are needed; install NVIDIA driver 450 or newer",
                 path};
  }
  if (const Status status = calls.init(); status != kSuccess) {
    return library->failed("the NVIDIA driver does not answer", status);
  }
  library->begun_ = true;
  return library;
}

Library::~Library() {
  if (begun_) calls_.shutdown();
  if (library_ != nullptr) dlclose(library_);
}

Error Library::failed(const std::string& what, Status status) const {
  const char* text = calls_.error_text == nullptr ? nullptr : calls_.error_text(status);
  return Error{status == kDriverNotLoaded || status == kGpuIsLost ? ErrorKind::kUnavailable
                                                                  : ErrorKind::kInternal,
               "nvml",
               fmt::format("{}: {} (NVML {}); `nvidia-smi` and `dmesg` say more", what,
                           text == nullptr ? "no reason given" : text, status),
               ""};
}

}  // namespace dove::devices::nvml
