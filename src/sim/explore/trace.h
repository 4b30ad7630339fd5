// Trace: the last things that happened, for the report of a failure. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "store/log_store.h"

namespace dove::sim {

class Trace {
 public:
  void add(std::int64_t at_us, std::string what);
  // Kept as it is, made text of when somebody asks.
  void add(std::int64_t at_us, const store::Batch& batch);
  // The last `lines_max` lines, the oldest first: "day 12 03:04:05.678 what".
  std::string text(std::size_t lines_max) const;
  // Only those about the job, and what happened to machines and the controller.
  std::string text_about(std::uint64_t job, std::size_t lines_max) const;

 private:
  struct Entry {
    std::int64_t at_us;
    std::string what;
    std::shared_ptr<const store::Batch> batch;
  };
  std::deque<Entry> entries_;
};

std::string virtual_time_text(std::int64_t at_us);

}  // namespace dove::sim
