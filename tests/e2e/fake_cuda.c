/* A libcuda.so.1 for machines without one: the calls of the driver that give memory, over two devices of
 * 80 GiB that exist in numbers only. DOVE_FAKE_CUDA: "wrong" makes it forget what is written to it.
 *
 * Device i of the machine has the UUID of sixteen bytes i + 1; CUDA_VISIBLE_DEVICES is obeyed. Memory that is set
 * and copied is one byte, of the last cuMemsetD8.
 * Source: CUDA Driver API, 12.x.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))
#define MACHINE 2
#define TOTAL (80ULL << 30)
#define BLOCKS 4096

enum { SUCCESS, INVALID, OUT_OF_MEMORY, NOT_INITIALIZED, NOT_FOUND = 500 };
typedef unsigned long long Pointer;
typedef struct Context { int device, alive; } Context;
typedef struct { Pointer key; size_t bytes; Context *context; int device, uses; } Block;

static Context contexts[64], primary[MACHINE];
static int begun, primary_uses[MACHINE], context_count;
static Context *current;
static Block blocks[BLOCKS];
static struct { Pointer at, handle; size_t bytes; } maps[BLOCKS];
static Pointer next = 0x7f0000000000ULL;
static unsigned char last_byte;

static int machine_index(int device) {
  const char *shown = getenv("CUDA_VISIBLE_DEVICES");
  if (!shown) return device < MACHINE ? device : -1;
  for (; *shown; ++shown) {
    if (device == 0) return atoi(shown);
    if (!(shown = strchr(shown, ','))) return -1;
    --device;
  }
  return -1;
}

static size_t used(int device) {
  size_t sum = 0;
  for (int i = 0; i < BLOCKS; ++i) sum += blocks[i].key && blocks[i].device == device ? blocks[i].bytes : 0;
  return sum;
}

static int give(Pointer *key, size_t bytes, Context *context, int device) {
  if (bytes > TOTAL - used(device)) return OUT_OF_MEMORY;
  for (int i = 0; i < BLOCKS; ++i) {
    if (blocks[i].key) continue;
    *key = next;
    next += (bytes + 511) / 512 * 512;
    blocks[i] = (Block){*key, bytes, context, device, 1};
    return SUCCESS;
  }
  return OUT_OF_MEMORY;
}

static Block *find(Pointer key) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (key && blocks[i].key == key) return &blocks[i];
  }
  return NULL;
}

static int drop(Pointer key) {
  Block *block = find(key);
  if (!block) return INVALID;
  if (--block->uses == 0) block->key = 0;
  return SUCCESS;
}

static int of_current(Pointer *key, size_t bytes) {
  return current ? give(key, bytes, current, current->device) : 201;
}

static void end(Context *context) {
  context->alive = 0;
  for (int i = 0; i < BLOCKS; ++i) {
    if (blocks[i].context == context) blocks[i].key = 0;
  }
}

SHOWN int cuInit(unsigned flags) { return flags ? INVALID : (begun = 1, SUCCESS); }
SHOWN int cuDeviceGetCount(int *count) {
  for (*count = 0; *count < MACHINE && machine_index(*count) >= 0; ++*count) continue;
  return SUCCESS;
}
SHOWN int cuDeviceGet(int *device, int ordinal) { return machine_index(*device = ordinal) < 0 ? INVALID : SUCCESS; }
SHOWN int cuDeviceGetUuid(unsigned char *uuid, int device) {
  memset(uuid, machine_index(device) + 1, 16);
  return begun ? SUCCESS : NOT_INITIALIZED;
}
SHOWN int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = TOTAL, device < 0 ? INVALID : SUCCESS; }
SHOWN int cuCtxCreate_v2(Context **context, unsigned flags, int device) {
  (void)flags;
  *context = current = &contexts[context_count++];
  *current = (Context){device, 1};
  return SUCCESS;
}
SHOWN int cuCtxDestroy_v2(Context *context) { return end(context), current = NULL, SUCCESS; }
SHOWN int cuCtxGetCurrent(Context **context) { return *context = current, SUCCESS; }
SHOWN int cuCtxSetCurrent(Context *context) { return current = context, SUCCESS; }
SHOWN int cuCtxGetDevice(int *device) { return current ? (*device = current->device, SUCCESS) : 201; }
SHOWN int cuDevicePrimaryCtxRetain(Context **context, int device) {
  *context = &primary[device];
  if (primary_uses[device]++ == 0) **context = (Context){device, 1};
  return SUCCESS;
}
SHOWN int cuDevicePrimaryCtxRelease_v2(int device) {
  if (primary_uses[device] == 0) return 201;
  if (--primary_uses[device] == 0) end(&primary[device]);
  return SUCCESS;
}
SHOWN int cuDevicePrimaryCtxReset_v2(int device) { return end(&primary[device]), primary_uses[device] = 0, SUCCESS; }
SHOWN int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  return *flags = 0, *active = primary_uses[device] > 0, SUCCESS;
}

SHOWN int cuMemAlloc_v2(Pointer *pointer, size_t bytes) { return of_current(pointer, bytes); }
SHOWN int cuMemAllocPitch_v2(Pointer *pointer, size_t *pitch, size_t width, size_t height, unsigned element) {
  (void)element;
  return of_current(pointer, (*pitch = (width + 511) / 512 * 512) * height);
}
SHOWN int cuMemAllocManaged(Pointer *pointer, size_t bytes, unsigned flags) {
  return (void)flags, of_current(pointer, bytes);
}
SHOWN int cuMemAllocAsync(Pointer *pointer, size_t bytes, void *stream) {
  return (void)stream, of_current(pointer, bytes);
}
SHOWN int cuMemAllocAsync_ptsz(Pointer *pointer, size_t bytes, void *stream) {
  return (void)stream, of_current(pointer, bytes);
}
SHOWN int cuMemFree_v2(Pointer pointer) { return drop(pointer); }
SHOWN int cuMemFreeAsync(Pointer pointer, void *stream) { return (void)stream, drop(pointer); }
SHOWN int cuMemFreeAsync_ptsz(Pointer pointer, void *stream) { return (void)stream, drop(pointer); }
SHOWN int cuMemCreate(Pointer *handle, size_t bytes, const int *wanted, unsigned long long flags) {
  return (void)flags, begun ? give(handle, bytes, NULL, wanted[3]) : NOT_INITIALIZED;
}
SHOWN int cuMemRelease(Pointer handle) { return drop(handle); }
SHOWN int cuMemMap(Pointer at, size_t bytes, size_t offset, Pointer handle, unsigned long long flags) {
  (void)offset, (void)flags;
  for (int i = 0; i < BLOCKS && find(handle); ++i) {
    if (maps[i].at) continue;
    maps[i].at = at, maps[i].handle = handle, maps[i].bytes = bytes;
    return ++find(handle)->uses, SUCCESS;
  }
  return INVALID;
}
SHOWN int cuMemUnmap(Pointer at, size_t bytes) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (maps[i].at - at < bytes && maps[i].at) drop(maps[i].handle), maps[i].at = 0;
  }
  return SUCCESS;
}
SHOWN int cuMemGetInfo_v2(size_t *unused, size_t *total) {
  if (!current) return 201;
  *total = TOTAL, *unused = TOTAL - used(current->device);
  return SUCCESS;
}
SHOWN int cuMemsetD8_v2(Pointer pointer, unsigned char byte, size_t bytes) {
  const char *how = getenv("DOVE_FAKE_CUDA");
  if (!find(pointer) || bytes > find(pointer)->bytes) return INVALID;
  last_byte = how && strcmp(how, "wrong") == 0 ? (unsigned char)(byte ^ 1) : byte;
  return SUCCESS;
}
SHOWN int cuMemcpyDtoH_v2(void *to, Pointer from, size_t bytes) {
  return find(from) ? (memset(to, last_byte, bytes), SUCCESS) : INVALID;
}

SHOWN int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status);
SHOWN int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags);

static const struct { const char *name; void *function; int since, per_thread; } functions[] = {
    {"cuGetProcAddress", cuGetProcAddress_v2, 12000, 0},
    {"cuGetProcAddress", cuGetProcAddress, 11030, 0},
    {"cuInit", cuInit, 2000, 0},
    {"cuMemAlloc", cuMemAlloc_v2, 3020, 0},
    {"cuMemAllocAsync", cuMemAllocAsync_ptsz, 11020, 1},
    {"cuMemAllocAsync", cuMemAllocAsync, 11020, 0},
    {"cuMemAllocManaged", cuMemAllocManaged, 6000, 0},
    {"cuMemAllocPitch", cuMemAllocPitch_v2, 3020, 0},
    {"cuMemCreate", cuMemCreate, 10020, 0},
    {"cuMemFree", cuMemFree_v2, 3020, 0},
    {"cuMemFreeAsync", cuMemFreeAsync_ptsz, 11020, 1},
    {"cuMemFreeAsync", cuMemFreeAsync, 11020, 0},
    {"cuMemGetInfo", cuMemGetInfo_v2, 3020, 0},
    {"cuMemMap", cuMemMap, 10020, 0},
    {"cuMemRelease", cuMemRelease, 10020, 0},
    {"cuMemUnmap", cuMemUnmap, 10020, 0},
    {"cuCtxCreate", cuCtxCreate_v2, 3020, 0},
    {"cuCtxDestroy", cuCtxDestroy_v2, 4000, 0},
    {"cuCtxSetCurrent", cuCtxSetCurrent, 4000, 0},
    {"cuDeviceTotalMem", cuDeviceTotalMem_v2, 3020, 0},
    {"cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain, 7000, 0},
    {"cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, 11000, 0},
};

static int answer(const char *symbol, void **function, int version, unsigned long long flags) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (strcmp(functions[i].name, symbol) || version < functions[i].since) continue;
    if (functions[i].per_thread && !(flags & 2)) continue;
    return *function = functions[i].function, SUCCESS;
  }
  return NOT_FOUND;
}
SHOWN int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status) {
  const int result = answer(symbol, function, version, flags);
  return status ? (*status = result == SUCCESS ? 0 : 1, result) : result;
}
SHOWN int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags) {
  return answer(symbol, function, version, flags);
}

/* Asks for what stands behind this library under a name that it has itself: nothing does. */
SHOWN int fake_own(void) { return 1; }
SHOWN void *fake_next(void) { return dlsym(RTLD_NEXT, "fake_own"); }
