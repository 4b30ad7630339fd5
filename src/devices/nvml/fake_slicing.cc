// The calls of the fake library on slices.
#include <algorithm>

#include "devices/nvml/fake_world.h"

using namespace dove::devices::nvml;
using namespace dove::devices::nvml::fake;

namespace {

const Kind* kind_by_id(unsigned id) {
  for (const Kind& kind : world.model->kinds) {
    if (kind.id == id) return &kind;
  }
  return nullptr;
}

const Kind* kind_of(unsigned number) {
  for (const Kind& kind : world.model->kinds) {
    if (kind.kind == number) return &kind;
  }
  return nullptr;
}

bool is_busy(const Slice& slice) {
  const std::vector<unsigned>& busy = world.gpus[slice.gpu].busy;
  return std::find(busy.begin(), busy.end(), slice.start) != busy.end();
}

}  // namespace

extern "C" {

Status nvmlDeviceGetMigMode(Handle handle, unsigned* now, unsigned* later) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  if (world.model->kinds.empty()) return 3;
  *now = *later = world.mig[gpu_of(handle)->index] ? 1 : 0;
  return kSuccess;
}
Status nvmlDeviceSetMigMode(Handle handle, unsigned mode, Status* done) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  const Gpu& gpu = *gpu_of(handle);
  const bool has_slices =
      std::any_of(world.slices.begin(), world.slices.end(),
                  [&](const Slice& slice) { return slice.gpu == gpu.index && !slice.is_gone; });
  *done = has_slices || key(gpu, "in_use", "0") == "1" ? kInUse : kSuccess;
  if (*done == kSuccess) world.mig[gpu.index] = mode == 1;
  save_slices();
  return kSuccess;
}
Status nvmlDeviceGetGpuInstanceProfileInfo(Handle handle, unsigned number, InstanceProfile* out) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  const Kind* kind = kind_of(number);
  if (kind == nullptr) return 3;
  *out = {};
  out->id = kind->id;
  out->slices = kind->slices;
  out->instances = static_cast<unsigned>(kind->starts.size());
  return kSuccess;
}
Status nvmlDeviceGetGpuInstancePossiblePlacements_v2(Handle, unsigned id, Placement* out,
                                                     unsigned* count) {
  const Kind* kind = kind_by_id(id);
  if (kind == nullptr) return kNotFound;
  if (out != nullptr) {
    if (*count < kind->starts.size()) return kInsufficientSize;
    for (std::size_t i = 0; i < kind->starts.size(); ++i) out[i] = {kind->starts[i], kind->size};
  }
  *count = static_cast<unsigned>(kind->starts.size());
  return kSuccess;
}
Status nvmlDeviceCreateGpuInstanceWithPlacement(Handle handle, unsigned id, const Placement* at,
                                                Handle* out) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  const unsigned gpu = gpu_of(handle)->index;
  const Kind* kind = kind_by_id(id);
  if (kind == nullptr || !world.mig[gpu]) return 3;
  const auto& starts = kind->starts;
  if (at->size != kind->size ||
      std::find(starts.begin(), starts.end(), at->start) == starts.end()) {
    return 2;
  }
  for (const Slice& slice : world.slices) {
    const unsigned size = kind_of(slice.kind)->size;
    const bool apart = slice.start + size <= at->start || at->start + at->size <= slice.start;
    if (!slice.is_gone && slice.gpu == gpu && !apart) return 23;
  }
  world.slices.push_back({gpu, world.next_slice++, kind->kind, at->start, false, false});
  *out = &world.slices.back();
  save_slices();
  return kSuccess;
}
Status nvmlGpuInstanceDestroy(Handle handle) {
  Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  if (slice->has_compute || is_busy(*slice)) return kInUse;
  slice->is_gone = true;
  save_slices();
  return kSuccess;
}
Status nvmlDeviceGetGpuInstances(Handle handle, unsigned id, Handle* out, unsigned* count) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  unsigned found = 0;
  for (Slice& slice : world.slices) {
    if (slice.is_gone || slice.gpu != gpu_of(handle)->index || kind_of(slice.kind)->id != id)
      continue;
    if (found < *count) out[found++] = &slice;
  }
  *count = found;
  return kSuccess;
}
Status nvmlGpuInstanceGetInfo(Handle handle, InstanceInfo* out) {
  const Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  const Kind* kind = kind_of(slice->kind);
  *out = {&world.gpus[slice->gpu], slice->id, kind->id, {slice->start, kind->size}};
  return kSuccess;
}
Status nvmlGpuInstanceGetComputeInstanceProfileInfo(Handle handle, unsigned number, unsigned,
                                                    ComputeProfile* out) {
  const Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  constexpr unsigned slices[] = {1, 2, 3, 4, 7};
  if (number >= 5 || slices[number] > kind_of(slice->kind)->slices) return 3;
  *out = {};
  out->id = number;
  out->slices = slices[number];
  return kSuccess;
}
Status nvmlGpuInstanceCreateComputeInstance(Handle handle, unsigned, Handle* out) {
  Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  if (slice->has_compute) return 23;
  slice->has_compute = true;
  *out = slice;
  save_slices();
  return kSuccess;
}
Status nvmlComputeInstanceDestroy(Handle handle) {
  Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  if (is_busy(*slice)) return kInUse;
  slice->has_compute = false;
  save_slices();
  return kSuccess;
}
Status nvmlGpuInstanceGetComputeInstances(Handle handle, unsigned id, Handle* out,
                                          unsigned* count) {
  Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  constexpr unsigned slices[] = {1, 2, 3, 4, 7};
  *count = slice->has_compute && slices[id] == kind_of(slice->kind)->slices ? 1 : 0;
  if (*count == 1) *out = slice;
  return kSuccess;
}
Status nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* count) {
  *count = 7;
  return alive(handle);
}
Status nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned index, Handle* out) {
  const Status status = alive(handle);
  if (status != kSuccess) return status;
  for (Slice& slice : world.slices) {
    if (slice.is_gone || !slice.has_compute || slice.gpu != gpu_of(handle)->index) continue;
    if (index-- > 0) continue;
    *out = &slice;
    return kSuccess;
  }
  return kNotFound;
}
Status nvmlDeviceGetGpuInstanceId(Handle handle, unsigned* id) {
  const Slice* slice = slice_of(handle);
  if (slice == nullptr) return kNotFound;
  *id = slice->id;
  return kSuccess;
}
Status nvmlDeviceGetComputeInstanceId(Handle handle, unsigned* id) {
  if (slice_of(handle) == nullptr) return kNotFound;
  *id = 0;
  return kSuccess;
}

}  // extern "C"
