// The orders of jobs by the names that commands and settings use.
#pragma once

#include <span>
#include <string_view>

#include "core/queue/order.h"

namespace dove::policies {

struct NamedOrder {
  std::string_view name;
  const core::JobOrder* order = nullptr;  // lives as long as the program
};

// `default` first, then by name.
std::span<const NamedOrder> job_orders();
// Null when there is none of that name.
const core::JobOrder* find_job_order(std::string_view name);

}  // namespace dove::policies
