// What libdove-share.so has under the driver's names, with the driver's types. Any thread.
//
// Source: CUDA Driver API, 12.x.
#pragma once

#include <cstddef>

#include "share/calls.h"

#define DOVE_FRONT extern "C" __attribute__((visibility("default"))) dove::share::CuResult

DOVE_FRONT cuMemAlloc_v2(dove::share::CuPointer* pointer, std::size_t bytes);
DOVE_FRONT cuMemAllocPitch_v2(dove::share::CuPointer* pointer, std::size_t* pitch,
                              std::size_t width_bytes, std::size_t height, unsigned element_bytes);
DOVE_FRONT cuMemAllocManaged(dove::share::CuPointer* pointer, std::size_t bytes, unsigned flags);
DOVE_FRONT cuMemAllocAsync(dove::share::CuPointer* pointer, std::size_t bytes,
                           dove::share::CuStream stream);
DOVE_FRONT cuMemAllocAsync_ptsz(dove::share::CuPointer* pointer, std::size_t bytes,
                                dove::share::CuStream stream);
DOVE_FRONT cuMemAllocFromPoolAsync(dove::share::CuPointer* pointer, std::size_t bytes,
                                   dove::share::CuPool pool, dove::share::CuStream stream);
DOVE_FRONT cuMemAllocFromPoolAsync_ptsz(dove::share::CuPointer* pointer, std::size_t bytes,
                                        dove::share::CuPool pool, dove::share::CuStream stream);
DOVE_FRONT cuMemFree_v2(dove::share::CuPointer pointer);
DOVE_FRONT cuMemFreeAsync(dove::share::CuPointer pointer, dove::share::CuStream stream);
DOVE_FRONT cuMemFreeAsync_ptsz(dove::share::CuPointer pointer, dove::share::CuStream stream);
DOVE_FRONT cuMemCreate(dove::share::CuHandle* handle, std::size_t bytes,
                       const dove::share::CuAllocationHead* wanted, unsigned long long flags);
DOVE_FRONT cuMemRelease(dove::share::CuHandle handle);
DOVE_FRONT cuMemRetainAllocationHandle(dove::share::CuHandle* handle, void* address);
DOVE_FRONT cuMemMap(dove::share::CuPointer pointer, std::size_t bytes, std::size_t offset,
                    dove::share::CuHandle handle, unsigned long long flags);
DOVE_FRONT cuMemUnmap(dove::share::CuPointer pointer, std::size_t bytes);
DOVE_FRONT cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes);
DOVE_FRONT cuDeviceTotalMem_v2(std::size_t* bytes, dove::share::CuDevice device);
DOVE_FRONT cuCtxDestroy_v2(dove::share::CuContext context);
DOVE_FRONT cuDevicePrimaryCtxReset_v2(dove::share::CuDevice device);
DOVE_FRONT cuDevicePrimaryCtxRelease_v2(dove::share::CuDevice device);
DOVE_FRONT cuGetProcAddress(const char* symbol, void** function, int version,
                            unsigned long long flags);
DOVE_FRONT cuGetProcAddress_v2(const char* symbol, void** function, int version,
                               unsigned long long flags, int* status);
