// What libdove-share.so has of CUDA's driver interface, and of the process that it is loaded into.
//
// It is loaded before everything else, into whatever image a job brings, so it is linked with no
// library: what it calls of the C library is in every one of them (glibc of any age, musl) and is
// bound by name alone. No exceptions, no heap, no thread-local storage. Any thread.
//
// Source: CUDA Driver API, 12.x: "Memory Management", "Virtual Memory Management", "Stream Ordered
// Memory Allocator", "Driver Entry Point Access".
#pragma once

#include <cstddef>
#include <cstdint>

namespace dove::share {

using CuResult = int;
using CuDevice = int;
using CuPointer = unsigned long long;
using CuHandle = unsigned long long;
using CuContext = void*;
using CuStream = void*;
using CuPool = void*;

inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuOutOfMemory = 2;
inline constexpr CuResult kCuNotInitialized = 3;
inline constexpr int kCuOnDevice = 1;                 // CU_MEM_LOCATION_TYPE_DEVICE
inline constexpr std::uint64_t kCuPerThreadFlag = 2;  // of cuGetProcAddress

// The head of CUmemAllocationProp.
struct CuAllocationHead {
  int type;
  int handle_types;
  int location_type;
  int location_id;
};

// A lock of this process. A child that was forked while it was held starts with a new one
// (forget()); the kernel puts waiters to sleep.
class Lock {
 public:
  void lock();
  void unlock();
  void forget();

 private:
  int state_ = 0;  // 1: held; 2: held, and somebody may wait
};

class Locked {
 public:
  explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

// Reads decimal digits at `text` and moves it behind them.
std::uint64_t read_number(const char*& text);

// Where a loaded library whose file's name begins with `library` has this function; with nullptr:
// any but this library itself. nullptr: there is none.
void* find_function(const char* library, const char* name);
// Whether the address is this library's own.
bool is_ours(const void* address);

}  // namespace dove::share
