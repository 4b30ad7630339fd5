// Learned: what the State keeps about jobs that ended and jobs that wait
// (core/state/learned/learned.h). Plain data, a fold of past events; in GPU-milliseconds.
#pragma once

#include <cstdint>

#include "core/state/learned/run_history.h"
#include "core/state/learned/service.h"

namespace dove::core {

struct Learned {
  bool kept = false;       // whether an order uses it; otherwise nothing is counted
  ServiceHistory service;  // of attempts that ended
  RunHistory runs;
  // Read from `service` and what runs, anew when the jobs that ended are a quarter more.
  ServiceOutlook outlook = core::outlook(ServiceHistory{});
  std::int64_t next_look = 1;
  std::int64_t waiting_ms = 0;  // that all waiting jobs are likely to take
};

}  // namespace dove::core
