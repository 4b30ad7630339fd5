// The calls of the fake library on whole GPUs.
#include <algorithm>
#include <cstdio>

#include "devices/nvml/fake_world.h"

using namespace dove::devices::nvml;
using namespace dove::devices::nvml::fake;

namespace {

std::string pci_text(unsigned index) {
  char text[32];
  std::snprintf(text, sizeof text, "00000000:%02X:00.0", 0x10 + 8 * index);
  return text;
}

std::string profile_text(const Slice& slice) {
  const auto kind = std::find_if(world.model->kinds.begin(), world.model->kinds.end(),
                                 [&](const Kind& one) { return one.kind == slice.kind; });
  unsigned slots = 0;
  for (const Kind& one : world.model->kinds) slots = std::max(slots, one.size);
  const long mib = world.model->memory_mib * kind->size / slots;
  return std::to_string(kind->slices) + "g." + std::to_string((mib + 512) / 1024) + "gb";
}

unsigned sent_mib(const Gpu& gpu) {
  return static_cast<unsigned>(std::stoul(key(gpu, "nvlink_mib", "0")));
}

}  // namespace

extern "C" {

Status nvmlInit_v2() {
  refresh();
  if (world.driver.empty()) return kDriverNotLoaded;
  return kSuccess;
}
Status nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(Status status) {
  switch (status) {
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    case kInUse:
      return "In use by another client";
    case kNotFound:
      return "Not Found";
    default:
      return "Unknown Error";
  }
}
Status nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return copy(world.driver, text, length);
}
Status nvmlDeviceGetCount_v2(unsigned* count) {
  refresh();
  *count = static_cast<unsigned>(world.gpus.size());
  return world.driver.empty() ? kDriverNotLoaded : kSuccess;
}
Status nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* out) {
  if (index >= world.gpus.size()) return 2;
  *out = &world.gpus[index];
  return alive(*out);
}
Status nvmlDeviceGetMinorNumber(Handle gpu, unsigned* out) {
  const Gpu* found = gpu_of(gpu);
  return number(gpu, "minor", found == nullptr ? "0" : std::to_string(found->index), out);
}
Status nvmlDeviceGetName(Handle gpu, char* text, unsigned length) {
  if (const Slice* slice = slice_of(gpu); slice != nullptr) {
    return copy(world.name + " MIG " + profile_text(*slice), text, length);
  }
  const Status status = alive(gpu);
  return status == kSuccess ? copy(world.name, text, length) : status;
}
Status nvmlDeviceGetUUID(Handle handle, char* text, unsigned length) {
  if (const Slice* slice = slice_of(handle); slice != nullptr) {
    return copy("MIG-fake-" + std::to_string(slice->gpu) + "-" + std::to_string(slice->id), text,
                length);
  }
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  const Gpu& gpu = *gpu_of(handle);
  return copy(key(gpu, "uuid", "GPU-fake-" + std::to_string(gpu.index)), text, length);
}
Status nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* out) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  const Gpu& gpu = *gpu_of(handle);
  return copy(key(gpu, "pci", pci_text(gpu.index)), out->bus_id, sizeof out->bus_id);
}
Status nvmlDeviceGetMemoryInfo(Handle handle, Memory* out) {
  unsigned used = 0;
  const Status status = number(handle, "used_mib", "0", &used);
  out->total = static_cast<unsigned long long>(world.model->memory_mib) << 20;
  out->used = static_cast<unsigned long long>(used) << 20;
  out->free = out->total - out->used;
  return status;
}
Status nvmlDeviceGetMemoryInfo_v2(Handle handle, MemoryV2* out) {
  Memory memory{};
  const Status status = nvmlDeviceGetMemoryInfo(handle, &memory);
  if (out->version != (sizeof(MemoryV2) | 2u << 24)) return 25;
  out->total = memory.total;
  out->used = memory.used;
  out->reserved = 512ull << 20;
  out->free = memory.free - out->reserved;
  return status;
}
Status nvmlDeviceGetMemoryAffinity(Handle handle, unsigned words, unsigned long* set, unsigned) {
  unsigned node = 0;
  if (words == 0) return kInsufficientSize;
  if (gpu_of(handle)->keys.count("numa") == 0) return 3;
  const Status status = number(handle, "numa", "0", &node);
  set[0] = 1ul << node;
  return status;
}
Status nvmlDeviceGetTopologyCommonAncestor(Handle a, Handle b, unsigned* level) {
  const Status status = alive(a);
  if (status != kSuccess) return status;
  *level = gpu_of(a)->index / 2 == gpu_of(b)->index / 2 ? 10 : 50;  // pairs share a switch
  return alive(b);
}
Status nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle handle, unsigned link, PciInfo* out) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  const std::string self = std::to_string(gpu_of(handle)->index);
  unsigned first = 0;
  for (const auto& [a, b, count] : world.links) {
    if (a != self && b != self) continue;
    const std::string& other = a == self ? b : a;
    first += static_cast<unsigned>(std::stoul(count));
    if (link >= first) continue;
    return copy(
        other == "switch" ? "00000000:F0:00.0" : pci_text(static_cast<unsigned>(std::stoul(other))),
        out->bus_id, sizeof out->bus_id);
  }
  return 3;
}
Status nvmlDeviceGetNvLinkState(Handle handle, unsigned link, unsigned* active) {
  PciInfo remote{};
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  *active = nvmlDeviceGetNvLinkRemotePciInfo_v2(handle, link, &remote) == kSuccess ? 1 : 0;
  return kSuccess;
}
Status nvmlDeviceGetClockInfo(Handle gpu, unsigned kind, unsigned* out) {
  return kind == 1 ? number(gpu, "sm_clock", "1980", out)
                   : number(gpu, "memory_clock", "2619", out);
}
Status nvmlDeviceGetTemperature(Handle gpu, unsigned, unsigned* out) {
  return number(gpu, "temperature", "36", out);
}
Status nvmlDeviceGetPowerUsage(Handle gpu, unsigned* out) {
  return number(gpu, "power_mw", "71500", out);
}
Status nvmlDeviceGetTotalEnergyConsumption(Handle gpu, unsigned long long* out) {
  unsigned mj = 0;
  const Status status = number(gpu, "energy_mj", "1000", &mj);
  *out = mj;
  return status;
}
Status nvmlDeviceGetUtilizationRates(Handle gpu, Utilization* out) {
  number(gpu, "memory_util", "0", &out->memory);
  return number(gpu, "util", "0", &out->gpu);
}
Status nvmlDeviceGetEncoderUtilization(Handle gpu, unsigned* out, unsigned* period) {
  *period = 100'000;
  return number(gpu, "encoder", "0", out);
}
Status nvmlDeviceGetDecoderUtilization(Handle gpu, unsigned* out, unsigned* period) {
  *period = 100'000;
  return number(gpu, "decoder", "0", out);
}
Status nvmlDeviceGetPcieReplayCounter(Handle gpu, unsigned* out) {
  return number(gpu, "pcie_replays", "0", out);
}
Status nvmlDeviceGetPcieThroughput(Handle gpu, unsigned, unsigned* out) {
  return number(gpu, "pcie_kib", "0", out);
}
Status nvmlDeviceGetRemappedRows(Handle gpu, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* pending, unsigned* failed) {
  number(gpu, "remapped_corrected", "0", corrected);
  number(gpu, "remap_pending", "0", pending);
  number(gpu, "remap_failed", "0", failed);
  return number(gpu, "remapped_uncorrected", "0", uncorrected);
}
Status nvmlDeviceGetTotalEccErrors(Handle gpu, unsigned kind, unsigned, unsigned long long* out) {
  unsigned count = 0;
  const Status status = number(gpu, kind == 0 ? "ecc_corrected" : "ecc_uncorrected", "0", &count);
  *out = count;
  return status;
}
Status nvmlDeviceGetViolationStatus(Handle gpu, unsigned policy, ViolationTime* out) {
  unsigned ns = 0;
  const Status status =
      number(gpu, policy == 0 ? "power_slowed_ns" : "thermal_slowed_ns", "0", &ns);
  out->slowed_ns = ns;
  return status;
}
Status nvmlDeviceGetFieldValues(Handle handle, int count, FieldValue* values) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  for (int i = 0; i < count; ++i) {
    values[i].status = kSuccess;
    values[i].type = values[i].id == 82 ? 1 : 3;
    if (values[i].id == 82) {
      values[i].value.whole = 44;
    } else {
      values[i].value.whole_64 = static_cast<unsigned long long>(sent_mib(*gpu_of(handle))) << 10;
    }
  }
  return kSuccess;
}
Status nvmlDeviceGetGridLicensableFeatures_v4(Handle handle, LicensableFeatures* out) {
  *out = {};
  return alive(handle);
}
Status nvmlGpmQueryDeviceSupport(Handle handle, GpmSupport* out) {
  if (out->version != 1) return 25;
  const Status status = alive(handle);
  if (status == kSuccess) out->is_supported = key(*gpu_of(handle), "gpm", "1") == "1" ? 1 : 0;
  return status;
}
Status nvmlGpmSampleAlloc(Handle* out) {
  *out = new CounterSample;
  ++world.counter_samples;
  return kSuccess;
}
Status nvmlGpmSampleFree(Handle sample) {
  delete static_cast<CounterSample*>(sample);
  --world.counter_samples;
  return kSuccess;
}
Status nvmlGpmSampleGet(Handle handle, Handle sample) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  *static_cast<CounterSample*>(sample) = {gpu_of(handle), ++world.counter_time};
  return kSuccess;
}
Status nvmlGpmMetricsGet(GpmMetrics* out) {
  const auto* first = static_cast<const CounterSample*>(out->first);
  const auto* second = static_cast<const CounterSample*>(out->second);
  if (out->version != 1 || first->gpu != second->gpu || first->at >= second->at) return 2;
  for (unsigned i = 0; i < out->count; ++i) {
    GpmMetric& metric = out->metrics[i];
    metric.status = kSuccess;
    metric.value = std::stod(key(*second->gpu, "gpm_" + std::to_string(metric.id), "0"));
  }
  return kSuccess;
}
Status nvmlEventSetCreate(Handle* out) {
  *out = &world;
  return kSuccess;
}
Status nvmlEventSetFree(Handle) { return kSuccess; }
Status nvmlDeviceRegisterEvents(Handle handle, unsigned long long, Handle) {
  const Status status = alive(handle);
  if (status == kSuccess) gpu_of(handle)->xids_told = gpu_of(handle)->xids.size();
  return status;
}
Status nvmlEventSetWait_v2(Handle, EventData* out, unsigned) {
  refresh();
  for (Gpu& gpu : world.gpus) {
    if (gpu.xids_told >= gpu.xids.size()) continue;
    *out = {&gpu, 8, gpu.xids[gpu.xids_told++], 0, 0};
    return kSuccess;
  }
  return 10;  // nothing came in time
}

}  // extern "C"
