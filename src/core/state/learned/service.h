// Service: the GPU time that a job has received, and estimates of how much it still needs.
//
// Levels divide service geometrically: level 0 ends at 600 GPU-seconds, each further one at four
// times the previous. ServiceHistory counts what jobs spent in each level and how many ended there,
// running ones included, so that long jobs are not forgotten; it is plain data, a fold of past
// events. ServiceOutlook is the Gittins index read from it (Gittins 1979; with unknown job sizes as
// in Aalto et al. 2009): the least expected service per job ended, from the start of each level.
// Whole numbers; service in GPU-milliseconds.
#pragma once

#include <array>
#include <cstdint>

#include "model/time.h"

namespace dove::core {

constexpr std::int32_t kServiceLevels = 16;

// GPU-milliseconds of a gang of `size_milli` thousandths of a GPU that ran so long.
std::int64_t service_ms(Span ran, std::int64_t size_milli);
std::int32_t service_level(std::int64_t service_ms);
// kNever.us for the last level, which does not end.
std::int64_t service_level_end_ms(std::int32_t level);
// The shortest run after which a gang of this size is past the level.
Span service_level_end(std::int32_t level, std::int64_t size_milli);

struct ServiceHistory {
  std::array<std::int64_t, kServiceLevels> spent_ms = {};
  std::array<std::int64_t, kServiceLevels> ended = {};
  std::int64_t jobs_ended = 0;
  std::int64_t ran_ms = 0;  // by jobs that ended, whatever their width

  // A job's service grew from the one to the other. REQUIRES: 0 <= before_ms <= after_ms.
  void spent(std::int64_t before_ms, std::int64_t after_ms);
  void finished(std::int64_t service_ms, Span ran);
};

struct ServiceOutlook {
  std::array<std::int64_t, kServiceLevels> left_ms = {};  // by level, at least 1
  Span mean_run;                                          // of a job that ended, at least 1
};

// Without a history: half of the jobs that reach a level end in it.
ServiceOutlook outlook(const ServiceHistory& history);

}  // namespace dove::core
