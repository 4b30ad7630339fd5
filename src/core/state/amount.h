// Amount: how much a job, or what it holds, counts towards usage and limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// What a job would add to usage.
struct Amount {
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;     // of its nodes, ascending by name
  std::vector<Countable> gpus_by_model;  // milli, by model in lower case; as far as it is known
};

// The least that the spec can hold, before its nodes are known.
Amount least_amount(const JobSpec& spec);
Amount amount_of(const State& state, const std::vector<Placement>& placements);
void add_amount(const State& state, const Placement& placement, Amount& amount);
// What is counted by the model of devices and by the profile of slices: its GPUs by model, and its
// slices among the countables.
void add_kinds(const Inventory& inventory, const Placement& placement, Amount& amount);

// INT64_MAX where that leaves 64 bits: what is too much to be counted is more than any limit.
// Admission bounds bytes and tasks each by itself, not their product.
std::int64_t product_of(std::int64_t a, std::int64_t b);
std::int64_t sum_of(std::int64_t a, std::int64_t b);

// The least that the request takes of devices, in thousandths, whatever their model.
std::int64_t least_milli(const Request& request);

}  // namespace dove::core
