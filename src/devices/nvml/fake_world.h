// FakeWorld: a management library for tests, whose GPUs are a text file that the test may edit.
//
// The file is named by DOVE_FAKE_NVML and read again when it changes. Its lines:
//
//   driver 550.54.15            no such line: the driver is not loaded
//   gpus 8 NVIDIA H200          the number of GPUs, and their model; their uuids are GPU-fake-0 …
//   gpu 3 KEY VALUE             used_mib, util, sm_clock, power_mw, temperature, numa, pci, uuid,
//                               minor, gpm (0: no such counters), gpm_5 (a counter, in %)
//   gpu 3 lost 1                it fell off the bus
//   gpu 3 xid 79                each such line is one event
//   gpu 3 busy 4                a process runs on the slice that starts at slot 4
//   nvlink 0 1 12               links between two GPUs; "nvlink 0 switch 18": to a switch
//
// Slices are kept in a file beside it (".mig"), as the hardware keeps them over a restart of the
// agent. The places of slices are taken from the MIG User Guide, r570, and from nowhere else,
// so that the product's own table can be tested against them.
#pragma once

#include <time.h>

#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "devices/nvml/library.h"

namespace dove::devices::nvml::fake {

struct Kind {  // of slice
  unsigned kind, id, slices, size;
  std::vector<unsigned> starts;
};

struct Model {
  const char* word;
  long memory_mib;
  std::vector<Kind> kinds;
};

struct Gpu {
  unsigned index = 0;
  std::map<std::string, std::string> keys;
  std::vector<unsigned> xids;
  std::vector<unsigned> busy;
  std::size_t xids_told = 0;
};

// A sample of GPM counters.
struct CounterSample {
  Gpu* gpu = nullptr;
  unsigned at = 0;
};

struct Slice {
  unsigned gpu = 0, id = 0, kind = 0, start = 0;
  bool has_compute = false;
  bool is_gone = false;
};

struct World {
  std::string path;
  std::string driver;
  std::string name;
  const Model* model = nullptr;
  std::deque<Gpu> gpus;
  std::vector<std::array<std::string, 3>> links;
  std::deque<Slice> slices;  // handles point into it
  std::map<unsigned, bool> mig;
  timespec read_at{};  // when the file was changed last
  unsigned next_slice = 1;
  unsigned counter_time = 0;  // goes on with each sample
  int counter_samples = 0;    // allocated
};

extern World world;

// Reads the file anew when it has changed.
void refresh();
void save_slices();
void load_slices();

// The GPU of a handle, or nullptr.
Gpu* gpu_of(Handle handle);
// The slice of a handle, or nullptr.
Slice* slice_of(Handle handle);
// What every call on a GPU answers when there is something wrong with it.
Status alive(Handle handle);
// What the file says of a GPU, or `otherwise`.
std::string key(const Gpu& gpu, const std::string& name, const std::string& otherwise);
Status number(Handle handle, const std::string& name, const std::string& otherwise, unsigned* out);
Status copy(const std::string& text, char* out, unsigned length);

}  // namespace dove::devices::nvml::fake
