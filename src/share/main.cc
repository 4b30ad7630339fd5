// libdove-share.so: holds a task to its share of a device's memory.
//
// Loaded before everything else (LD_PRELOAD), it stands in front of what CUDA's driver has to give
// and report memory: directly linked, asked for with dlsym, or with cuGetProcAddress, as CUDA's
// runtime does. What would go beyond the cap is refused as a full device refuses it, and the
// cap is what the device seems to have. It holds programs that play by the rules; one that means to
// can go around it.
#include <dlfcn.h>

#include "share/front.h"
#include "share/keeper.h"
#include "share/names.h"

using namespace dove::share;

namespace {

constexpr std::size_t kPitch_bytes = 512;  // rows begin at multiples of this

CuContext current_context() {
  CuContext context = nullptr;
  driver(Fn::kCtxGetCurrent, &context);
  return context;
}

void keep_pointer(int device, CuPointer pointer, std::uint64_t bytes) {
  Holding holding;
  holding.kind = Kind::kPointer;
  holding.key = pointer;
  holding.bytes = bytes;
  holding.context = current_context();
  holding.device = static_cast<std::int16_t>(device);
  Keeper::get().keep(holding);
}

// Has the driver give that much of the current device, if the cap allows it.
template <class Give>
CuResult capped_pointer(CuPointer* pointer, std::size_t bytes, Give give) {
  Keeper& keeper = Keeper::get();
  const int device = keeper.capped_current();
  if (device < 0) return give();
  if (!keeper.take(device, bytes)) return kCuOutOfMemory;
  const CuResult result = give();
  if (result != kCuSuccess) {
    keeper.give_back(device, bytes);
  } else {
    keep_pointer(device, *pointer, bytes);
  }
  return result;
}

// For memory that the driver frees now.
template <class Free>
CuResult counted_free(CuPointer pointer, Free free) {
  Keeper& keeper = Keeper::get();
  const Holding was = keeper.part_with(Kind::kPointer, pointer);
  const CuResult result = free();
  if (was.kind == Kind::kFree) return result;
  if (result != kCuSuccess) {
    keeper.keep(was);
  } else {
    keeper.give_back(was.device, was.bytes);
  }
  return result;
}

// The primary context may have ended with what was done to it.
CuResult after_primary(CuDevice device, Fn function) {
  CuContext primary = nullptr;
  const bool known = Keeper::get().capped(device) >= 0 &&
                     driver(Fn::kPrimaryRetain, &primary, device) == kCuSuccess;
  if (known) driver(Fn::kPrimaryRelease, device);
  const CuResult result = driver(function, device);
  unsigned flags = 0;
  int active = 1;
  if (known && result == kCuSuccess &&
      driver(Fn::kPrimaryGetState, device, &flags, &active) == kCuSuccess && active == 0) {
    Keeper::get().context_ended(primary);
  }
  return result;
}

using Dlsym = void* (*)(void*, const char*);

Dlsym next_dlsym() {
  static void* found = nullptr;
  void* next = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (next == nullptr) {
    next = find_function(nullptr, "dlsym");
    __atomic_store_n(&found, next, __ATOMIC_RELEASE);
  }
  return reinterpret_cast<Dlsym>(next);
}

// What the environment says now: programs may change theirs.
__attribute__((constructor)) void begin() { Keeper::get(); }
__attribute__((destructor)) void end() { Keeper::get().leave(); }

}  // namespace

DOVE_FRONT cuMemAlloc_v2(CuPointer* pointer, std::size_t bytes) {
  return capped_pointer(pointer, bytes, [&] { return driver(Fn::kMemAlloc, pointer, bytes); });
}

DOVE_FRONT cuMemAllocPitch_v2(CuPointer* pointer, std::size_t* pitch, std::size_t width_bytes,
                              std::size_t height, unsigned element_bytes) {
  const std::size_t row = (width_bytes + kPitch_bytes - 1) / kPitch_bytes * kPitch_bytes;
  const bool fits = height == 0 || row <= ~std::size_t{0} / height;
  return capped_pointer(pointer, fits ? row * height : ~std::size_t{0}, [&] {
    return driver(Fn::kMemAllocPitch, pointer, pitch, width_bytes, height, element_bytes);
  });
}

DOVE_FRONT cuMemAllocManaged(CuPointer* pointer, std::size_t bytes, unsigned flags) {
  return capped_pointer(pointer, bytes,
                        [&] { return driver(Fn::kMemAllocManaged, pointer, bytes, flags); });
}

namespace {

CuResult alloc_async(Fn function, CuPointer* pointer, std::size_t bytes, CuStream stream) {
  return capped_pointer(pointer, bytes, [&] { return driver(function, pointer, bytes, stream); });
}

CuResult alloc_from_pool(Fn function, CuPointer* pointer, std::size_t bytes, CuPool pool,
                         CuStream stream) {
  return capped_pointer(pointer, bytes,
                        [&] { return driver(function, pointer, bytes, pool, stream); });
}

CuResult free_async(Fn function, CuPointer pointer, CuStream stream) {
  return counted_free(pointer, [&] { return driver(function, pointer, stream); });
}

}  // namespace

DOVE_FRONT cuMemAllocAsync(CuPointer* pointer, std::size_t bytes, CuStream stream) {
  return alloc_async(Fn::kMemAllocAsync, pointer, bytes, stream);
}

DOVE_FRONT cuMemAllocAsync_ptsz(CuPointer* pointer, std::size_t bytes, CuStream stream) {
  return alloc_async(Fn::kMemAllocAsyncPerThread, pointer, bytes, stream);
}

DOVE_FRONT cuMemAllocFromPoolAsync(CuPointer* pointer, std::size_t bytes, CuPool pool,
                                   CuStream stream) {
  return alloc_from_pool(Fn::kMemAllocFromPool, pointer, bytes, pool, stream);
}

DOVE_FRONT cuMemAllocFromPoolAsync_ptsz(CuPointer* pointer, std::size_t bytes, CuPool pool,
                                        CuStream stream) {
  return alloc_from_pool(Fn::kMemAllocFromPoolPerThread, pointer, bytes, pool, stream);
}

DOVE_FRONT cuMemFree_v2(CuPointer pointer) {
  return counted_free(pointer, [&] { return driver(Fn::kMemFree, pointer); });
}

DOVE_FRONT cuMemFreeAsync(CuPointer pointer, CuStream stream) {
  return free_async(Fn::kMemFreeAsync, pointer, stream);
}

DOVE_FRONT cuMemFreeAsync_ptsz(CuPointer pointer, CuStream stream) {
  return free_async(Fn::kMemFreeAsyncPerThread, pointer, stream);
}

DOVE_FRONT cuMemCreate(CuHandle* handle, std::size_t bytes, const CuAllocationHead* wanted,
                       unsigned long long flags) {
  Keeper& keeper = Keeper::get();
  const bool on_device = wanted != nullptr && wanted->location_type == kCuOnDevice;
  const int device = on_device ? keeper.capped(wanted->location_id) : -1;
  if (device >= 0 && !keeper.take(device, bytes)) return kCuOutOfMemory;
  const CuResult result = driver(Fn::kMemCreate, handle, bytes, wanted, flags);
  if (device < 0) return result;
  if (result != kCuSuccess) {
    keeper.give_back(device, bytes);
    return result;
  }
  Holding holding;
  holding.kind = Kind::kHandle;
  holding.key = *handle;
  holding.bytes = bytes;
  holding.device = static_cast<std::int16_t>(device);
  keeper.keep(holding);
  return result;
}

DOVE_FRONT cuMemRelease(CuHandle handle) {
  // Before the driver may give its number to another.
  Keeper::get().handle_released(handle);
  return driver(Fn::kMemRelease, handle);
}

DOVE_FRONT cuMemRetainAllocationHandle(CuHandle* handle, void* address) {
  const CuResult result = driver(Fn::kMemRetain, handle, address);
  if (result == kCuSuccess) Keeper::get().handle_used(*handle);
  return result;
}

DOVE_FRONT cuMemMap(CuPointer pointer, std::size_t bytes, std::size_t offset, CuHandle handle,
                    unsigned long long flags) {
  const CuResult result = driver(Fn::kMemMap, pointer, bytes, offset, handle, flags);
  if (result == kCuSuccess) Keeper::get().mapped(pointer, handle);
  return result;
}

DOVE_FRONT cuMemUnmap(CuPointer pointer, std::size_t bytes) {
  const CuResult result = driver(Fn::kMemUnmap, pointer, bytes);
  if (result == kCuSuccess) Keeper::get().unmapped(pointer, bytes);
  return result;
}

DOVE_FRONT cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  const CuResult result = driver(Fn::kMemGetInfo, free_bytes, total_bytes);
  Keeper& keeper = Keeper::get();
  const int device = result == kCuSuccess ? keeper.capped_current() : -1;
  if (device < 0) return result;
  const Keeper::Memory memory = keeper.memory(device);
  if (memory.free_bytes < *free_bytes) *free_bytes = memory.free_bytes;
  if (memory.total_bytes < *total_bytes) *total_bytes = memory.total_bytes;
  return result;
}

DOVE_FRONT cuDeviceTotalMem_v2(std::size_t* bytes, CuDevice asked) {
  const CuResult result = driver(Fn::kDeviceTotalMem, bytes, asked);
  Keeper& keeper = Keeper::get();
  const int device = result == kCuSuccess ? keeper.capped(asked) : -1;
  if (device < 0) return result;
  const std::uint64_t total_bytes = keeper.memory(device).total_bytes;
  if (total_bytes < *bytes) *bytes = total_bytes;
  return result;
}

DOVE_FRONT cuCtxDestroy_v2(CuContext context) {
  const CuResult result = driver(Fn::kCtxDestroy, context);
  if (result == kCuSuccess) Keeper::get().context_ended(context);
  return result;
}

DOVE_FRONT cuDevicePrimaryCtxReset_v2(CuDevice device) {
  return after_primary(device, Fn::kPrimaryReset);
}

DOVE_FRONT cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  return after_primary(device, Fn::kPrimaryRelease);
}

namespace {

void put_front(const char* symbol, void** function, int version, unsigned long long flags) {
  if (symbol == nullptr || function == nullptr || *function == nullptr) return;
  void* ours = in_front_of(symbol, version, flags, *function);
  if (ours != nullptr) *function = ours;
}

}  // namespace

DOVE_FRONT cuGetProcAddress(const char* symbol, void** function, int version,
                            unsigned long long flags) {
  const CuResult result = driver(Fn::kGetProcAddress, symbol, function, version, flags);
  if (result == kCuSuccess) put_front(symbol, function, version, flags);
  return result;
}

DOVE_FRONT cuGetProcAddress_v2(const char* symbol, void** function, int version,
                               unsigned long long flags, int* status) {
  const CuResult result = driver(Fn::kGetProcAddressV2, symbol, function, version, flags, status);
  if (result == kCuSuccess) put_front(symbol, function, version, flags);
  return result;
}

// The C library's answers by who asks, so all but our own names are passed on as a jump.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle,
                                                              const char* name) noexcept {
  const Dlsym next = next_dlsym();
  if (next == nullptr) return nullptr;
  if (handle == RTLD_NEXT || name[0] != 'c' || name[1] != 'u') {
    return next(handle, name);
  }
  void* theirs = next(handle, name);
  void* ours = theirs == nullptr ? nullptr : in_front_of(name, theirs);
  return ours == nullptr ? theirs : ours;
}
