#include "share/names.h"

#include <cstring>

#include "share/calls.h"
#include "share/front.h"

namespace dove::share {
namespace {

struct Function {
  const char* base;    // as cuGetProcAddress is asked for it
  const char* symbol;  // in the library
  int since;           // CUDA's version from which on `base` means `symbol`
  bool per_thread;     // the variant of the default stream per thread
  void* front;         // ours; nullptr: nothing stands in front of it
};

template <class F>
void* at(F* function) {
  return reinterpret_cast<void*>(function);
}

const Function kFunctions[] = {
    {"cuMemAlloc", "cuMemAlloc_v2", 3020, false, at(&cuMemAlloc_v2)},
    {"cuMemAllocPitch", "cuMemAllocPitch_v2", 3020, false, at(&cuMemAllocPitch_v2)},
    {"cuMemAllocManaged", "cuMemAllocManaged", 6000, false, at(&cuMemAllocManaged)},
    {"cuMemAllocAsync", "cuMemAllocAsync", 11020, false, at(&cuMemAllocAsync)},
    {"cuMemAllocAsync", "cuMemAllocAsync_ptsz", 11020, true, at(&cuMemAllocAsync_ptsz)},
    {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", 11020, false,
     at(&cuMemAllocFromPoolAsync)},
    {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync_ptsz", 11020, true,
     at(&cuMemAllocFromPoolAsync_ptsz)},
    {"cuMemFree", "cuMemFree_v2", 3020, false, at(&cuMemFree_v2)},
    {"cuMemFreeAsync", "cuMemFreeAsync", 11020, false, at(&cuMemFreeAsync)},
    {"cuMemFreeAsync", "cuMemFreeAsync_ptsz", 11020, true, at(&cuMemFreeAsync_ptsz)},
    {"cuMemCreate", "cuMemCreate", 10020, false, at(&cuMemCreate)},
    {"cuMemRelease", "cuMemRelease", 10020, false, at(&cuMemRelease)},
    {"cuMemRetainAllocationHandle", "cuMemRetainAllocationHandle", 11000, false,
     at(&cuMemRetainAllocationHandle)},
    {"cuMemMap", "cuMemMap", 10020, false, at(&cuMemMap)},
    {"cuMemUnmap", "cuMemUnmap", 10020, false, at(&cuMemUnmap)},
    {"cuMemGetInfo", "cuMemGetInfo_v2", 3020, false, at(&cuMemGetInfo_v2)},
    {"cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020, false, at(&cuDeviceTotalMem_v2)},
    {"cuCtxDestroy", "cuCtxDestroy_v2", 4000, false, at(&cuCtxDestroy_v2)},
    {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000, false,
     at(&cuDevicePrimaryCtxReset_v2)},
    {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000, false,
     at(&cuDevicePrimaryCtxRelease_v2)},
    {"cuGetProcAddress", "cuGetProcAddress", 11030, false, at(&cuGetProcAddress)},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000, false, at(&cuGetProcAddress_v2)},
    {"", "cuCtxGetDevice", 0, false, nullptr},
    {"", "cuCtxGetCurrent", 0, false, nullptr},
    {"", "cuDeviceGetUuid", 0, false, nullptr},
    {"", "cuDevicePrimaryCtxRetain", 0, false, nullptr},
    {"", "cuDevicePrimaryCtxGetState", 0, false, nullptr},
};
constexpr std::size_t kCount = static_cast<std::size_t>(Fn::kCount);
static_assert(sizeof kFunctions / sizeof kFunctions[0] == kCount);

void* theirs_of[kCount];

// Ours in place of theirs, which is kept.
void* front_of(std::size_t index, void* theirs) {
  if (theirs != nullptr && !is_ours(theirs)) {
    __atomic_store_n(&theirs_of[index], theirs, __ATOMIC_RELEASE);
  }
  return kFunctions[index].front;
}

}  // namespace

void* driver_function(Fn function) {
  const auto index = static_cast<std::size_t>(function);
  void* found = __atomic_load_n(&theirs_of[index], __ATOMIC_ACQUIRE);
  if (found == nullptr) {
    found = find_function("libcuda.so", kFunctions[index].symbol);
    __atomic_store_n(&theirs_of[index], found, __ATOMIC_RELEASE);
  }
  return found;
}

void* in_front_of(const char* name, void* theirs) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const Function& one = kFunctions[i];
    if (one.front != nullptr && std::strcmp(one.symbol, name) == 0) return front_of(i, theirs);
  }
  return nullptr;
}

void* in_front_of(const char* name, int version, std::uint64_t flags, void* theirs) {
  const bool per_thread = (flags & kCuPerThreadFlag) != 0;
  std::size_t best = kCount;
  for (std::size_t i = 0; i < kCount; ++i) {
    const Function& one = kFunctions[i];
    if (one.front == nullptr || version < one.since || std::strcmp(one.base, name) != 0) continue;
    if (one.per_thread && !per_thread) continue;
    const bool is_better = best == kCount || one.per_thread != kFunctions[best].per_thread
                               ? best == kCount || one.per_thread
                               : one.since > kFunctions[best].since;
    if (is_better) best = i;
  }
  return best == kCount ? nullptr : front_of(best, theirs);
}

}  // namespace dove::share
