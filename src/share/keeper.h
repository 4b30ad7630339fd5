// The keeper of libdove-share.so: which device has which cap, and what of it this process took.
//
// Told by the agent in the environment: DOVE_SHARE_CAPS "GPU-<uuid>=<own>:<all>,..." (bytes;
// without a name: by the order of CUDA's devices), DOVE_SHARE_FILE (dove_share_ledger.h),
// DOVE_SHARE_TASK (a number that tells the task from the attempt's others). Without the first
// nothing is capped. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "share/calls.h"
#include "share/holdings.h"
#include "share/ledger.h"

namespace dove::share {

class Keeper {
 public:
  static Keeper& get();  // one for the process

  // The index of the device's cap; -1: it has none.
  int capped(CuDevice device);
  int capped_current();  // of the context's device

  // Whether these bytes may be allocated; if so, they count.
  bool take(int device, std::uint64_t bytes);
  // Records what was allocated. What the driver refused is returned with give_back().
  void keep(const Holding& holding);
  void give_back(int device, std::uint64_t bytes);

  // Before the driver frees it; with kind kFree: nothing is known of it.
  Holding part_with(Kind kind, std::uint64_t key);
  void mapped(std::uint64_t address, std::uint64_t handle);
  void handle_used(std::uint64_t handle);      // once more
  void handle_released(std::uint64_t handle);  // once
  void unmapped(std::uint64_t address, std::uint64_t bytes);
  void context_ended(CuContext context);

  struct Memory {
    std::uint64_t free_bytes;
    std::uint64_t total_bytes;
  };
  Memory memory(int device);
  void leave();

 private:
  struct Cap {
    char uuid[40] = {};  // as NVML writes it, without "GPU-"; "": by the order
    Caps bytes;
  };
  void begin();  // once in each process
  void read_caps(const char* text);
  int find_cap(CuDevice device);  // as in known_

  Lock lock_;
  int pid_ = 0;       // that all below is of
  int seen_pid_ = 0;  // that has found itself to be another
  bool read_ = false;
  Cap caps_[kDevices];
  std::size_t cap_count_ = 0;
  signed char known_[64] = {};  // by device: one more than its cap, -1: none, 0: not asked yet
  Ledger ledger_;
  Holdings holdings_;
};

}  // namespace dove::share
