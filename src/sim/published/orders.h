// The orders of published schedulers by the names that `dove sim replay` uses.
#pragma once

#include <span>
#include <string_view>

#include "sim/published/job_order.h"

namespace dove::sim {

struct NamedOrder {
  std::string_view name;
  const JobOrder* order = nullptr;  // lives as long as the program
};

// By name.
std::span<const NamedOrder> job_orders();
// Null when there is none of that name.
const JobOrder* find_job_order(std::string_view name);

}  // namespace dove::sim
