// The functions of the driver that libdove-share.so stands in front of, or asks itself: their names
// in the library, what cuGetProcAddress is asked for, and where the driver's own are. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "share/calls.h"

namespace dove::share {

// In the order of kFunctions.
enum class Fn : std::size_t {
  kMemAlloc,
  kMemAllocPitch,
  kMemAllocManaged,
  kMemAllocAsync,
  kMemAllocAsyncPerThread,
  kMemAllocFromPool,
  kMemAllocFromPoolPerThread,
  kMemFree,
  kMemFreeAsync,
  kMemFreeAsyncPerThread,
  kMemCreate,
  kMemRelease,
  kMemRetain,
  kMemMap,
  kMemUnmap,
  kMemGetInfo,
  kDeviceTotalMem,
  kCtxDestroy,
  kPrimaryReset,
  kPrimaryRelease,
  kGetProcAddress,
  kGetProcAddressV2,
  // asked only
  kCtxGetDevice,
  kCtxGetCurrent,
  kDeviceGetUuid,
  kPrimaryRetain,
  kPrimaryGetState,
  kCount,
};

// The driver's own; nullptr: there is no driver, or it has no such function. Looked for once.
void* driver_function(Fn function);

// Has the driver do it. The arguments' types are those of its function.
template <class... Arguments>
CuResult driver(Fn function, Arguments... arguments) {
  void* found = driver_function(function);
  if (found == nullptr) return kCuNotInitialized;
  return reinterpret_cast<CuResult (*)(Arguments...)>(found)(arguments...);
}

// What stands in front of the function of that name; nullptr: nothing does. `theirs` is what would
// be found without us.
void* in_front_of(const char* name, void* theirs);

// The same as cuGetProcAddress is asked: `name` without its version, for CUDA's `version` (12040 is
// 12.4), with the flags of the call.
void* in_front_of(const char* name, int version, std::uint64_t flags, void* theirs);

}  // namespace dove::share
