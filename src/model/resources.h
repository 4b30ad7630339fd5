// Resources: what a task asks for and what a node has.
//
// All amounts are whole numbers: cores, bytes, thousandths of a device (shares), units of a named
// countable ("rdma", "licence:matlab", "watts").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dove {

// One thousandth of a device; 1000 is a whole one.
constexpr std::int32_t kWholeDevice_milli = 1000;

// Units of a named countable. Names are [a-z][a-z0-9_.:/-]*, at most 64 bytes; see huge_pages.h.
struct Countable {
  std::string name;
  std::int64_t amount = 0;
  bool operator==(const Countable&) const = default;
};

// How what a task gets lies on its node's NUMA nodes.
enum class Affinity : std::uint8_t {
  kDefault,      // as the pool says, else as the cluster says
  kSingle,       // on as few of them as possible
  kInterleaved,  // evenly over as many of them as possible, first on those with the most free
};

// What is asked for, per task or per node. A zero asks for nothing of that kind. Whole devices, a
// share and slices exclude each other.
struct Request {
  std::int32_t cores = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t gpus = 0;              // whole devices
  std::int32_t share_milli = 0;       // of one device, 1..999
  std::string slice;                  // profile of the slices, "1g.10gb"; "" without slices
  std::int32_t slices = 0;            // the number of slices, of one device or of several
  std::string gpu_model;              // "" is any
  std::int64_t gpu_memory_bytes = 0;  // least memory of each device; 0 is any
  std::vector<Countable> countables;  // ascending by name, each once
  bool operator==(const Request&) const = default;
};

}  // namespace dove
