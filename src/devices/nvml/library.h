// Library: NVIDIA's management library (libnvidia-ml.so.1), found at run time.
//
// These declarations are our own, after the reference NVML API, release 535: only what is used,
// with the layouts of its ABI. A symbol that the library lacks is null; older ones stand in for
// newer ones where they mean the same. Nothing here is for users of devices/nvml; see gpus.h.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace dove::devices::nvml {

// A GPU, a slice of one (GPU instance, compute instance), an event set, or a sample of counters.
using Handle = void*;
using Status = int;

inline constexpr Status kSuccess = 0;
inline constexpr Status kNotFound = 6;
inline constexpr Status kInsufficientSize = 7;
inline constexpr Status kDriverNotLoaded = 9;
inline constexpr Status kGpuIsLost = 15;
inline constexpr Status kResetRequired = 16;
inline constexpr Status kInUse = 19;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct Utilization {
  unsigned gpu, memory;  // per cent
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ViolationTime {
  unsigned long long reference_us, slowed_ns;
};
struct FieldValue {
  unsigned id, scope;
  long long timestamp_us, latency_us;
  unsigned type;
  Status status;
  union {
    double real;
    unsigned whole;
    unsigned long long whole_64;
    long long signed_64;
  } value;
};
struct EventData {
  Handle device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
struct Placement {
  unsigned start, size;
};
struct InstanceProfile {
  unsigned id, is_p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs,
      ofas;
  unsigned long long memory_mib;
};
struct InstanceInfo {
  Handle device;
  unsigned id, profile;
  Placement placement;
};
struct ComputeProfile {
  unsigned id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
};
struct LicensableFeature {
  int code;
  unsigned state;
  char license[128];
  char product[128];
  unsigned enabled;
  struct {
    unsigned year;
    unsigned short month, day, hour, minutes, seconds;
    unsigned char status;
  } expiry;
};
struct LicensableFeatures {
  int is_supported;
  unsigned count;
  LicensableFeature features[3];
};

struct GpmSupport {
  unsigned version, is_supported;
};
struct GpmMetric {
  unsigned id;
  Status status;
  double value;
  const char* short_name;
  const char* long_name;
  const char* unit;
};
struct GpmMetrics {
  unsigned version, count;
  Handle first, second;  // samples, the older one first
  GpmMetric metrics[333];
};

// One member for each symbol; null when the library has it under none of its names.
struct Calls {
  Status (*init)();
  Status (*shutdown)();
  const char* (*error_text)(Status);
  Status (*driver_version)(char*, unsigned);
  Status (*count)(unsigned*);
  Status (*by_index)(unsigned, Handle*);
  Status (*name)(Handle, char*, unsigned);
  Status (*uuid)(Handle, char*, unsigned);
  Status (*minor_number)(Handle, unsigned*);
  Status (*pci)(Handle, PciInfo*);
  Status (*memory)(Handle, Memory*);
  Status (*memory_v2)(Handle, MemoryV2*);
  Status (*memory_affinity)(Handle, unsigned, unsigned long*, unsigned);
  Status (*common_ancestor)(Handle, Handle, unsigned*);
  Status (*nvlink_state)(Handle, unsigned, unsigned*);
  Status (*nvlink_remote)(Handle, unsigned, PciInfo*);
  Status (*clock)(Handle, unsigned, unsigned*);
  Status (*temperature)(Handle, unsigned, unsigned*);
  Status (*power)(Handle, unsigned*);
  Status (*energy)(Handle, unsigned long long*);
  Status (*utilization)(Handle, Utilization*);
  Status (*encoder)(Handle, unsigned*, unsigned*);
  Status (*decoder)(Handle, unsigned*, unsigned*);
  Status (*pcie_replays)(Handle, unsigned*);
  Status (*pcie_throughput)(Handle, unsigned, unsigned*);
  Status (*remapped_rows)(Handle, unsigned*, unsigned*, unsigned*, unsigned*);
  Status (*ecc_errors)(Handle, unsigned, unsigned, unsigned long long*);
  Status (*violation)(Handle, unsigned, ViolationTime*);
  Status (*fields)(Handle, int, FieldValue*);
  Status (*licenses)(Handle, LicensableFeatures*);
  Status (*gpm_support)(Handle, GpmSupport*);
  Status (*gpm_alloc)(Handle*);
  Status (*gpm_free)(Handle);
  Status (*gpm_sample)(Handle, Handle);
  Status (*gpm_metrics)(GpmMetrics*);
  Status (*event_set)(Handle*);
  Status (*event_set_free)(Handle);
  Status (*register_events)(Handle, unsigned long long, Handle);
  Status (*wait_event)(Handle, EventData*, unsigned);
  Status (*mig_mode)(Handle, unsigned*, unsigned*);
  Status (*set_mig_mode)(Handle, unsigned, Status*);
  Status (*instance_profile)(Handle, unsigned, InstanceProfile*);
  Status (*possible_placements)(Handle, unsigned, Placement*, unsigned*);
  Status (*create_instance)(Handle, unsigned, const Placement*, Handle*);
  Status (*destroy_instance)(Handle);
  Status (*instances)(Handle, unsigned, Handle*, unsigned*);
  Status (*instance_info)(Handle, InstanceInfo*);
  Status (*compute_profile)(Handle, unsigned, unsigned, ComputeProfile*);
  Status (*create_compute)(Handle, unsigned, Handle*);
  Status (*destroy_compute)(Handle);
  Status (*computes)(Handle, unsigned, Handle*, unsigned*);
  Status (*slice_count_max)(Handle, unsigned*);
  Status (*slice_by_index)(Handle, unsigned, Handle*);
  Status (*slice_instance)(Handle, unsigned*);
  Status (*slice_compute)(Handle, unsigned*);
};

class Library {
 public:
  // kNotFound when there is no such library: this machine has no NVIDIA driver.
  static Result<std::unique_ptr<Library>> open(const std::string& path);
  // Ends the session with the driver and unloads it.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Calls& call() const { return calls_; }
  // What a call that failed says: "nvmlDeviceGetName: GPU is lost".
  Error failed(const std::string& what, Status status) const;

 private:
  Library() = default;
  void* library_ = nullptr;
  bool begun_ = false;
  Calls calls_{};
};

}  // namespace dove::devices::nvml
