// Quotas: what somebody uses of what they may, holder by holder, and who may raise it.
//
// Pure. Amounts are as in model/declared.h: GPUs in thousandths, memory in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

struct QuotaRow {
  std::string level;     // "user", "project", "queue"
  std::string name;      // of the holder
  std::string resource;  // "jobs_running", "jobs_waiting", "cores", "gpus_milli", "memory_bytes",
                         // a countable's name, "gpus_milli:MODEL"
  std::int64_t used = 0;
  std::int64_t limit = 0;
};

// Every limit that holds for the user: their own, those of `projects` and of all queues.
std::vector<QuotaRow> quota_of(const State& state, const std::string& user,
                               const std::vector<std::string>& projects);

// "an administrator of domain corp, or of the cluster".
std::string raised_by(const State& state, const std::string& level, const std::string& name);

// "cores: 12 used, 8 asked, limit 16, over by 4".
std::string over_text(const Reason& broken);

}  // namespace dove::core
