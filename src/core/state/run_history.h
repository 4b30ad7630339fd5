// RunHistory: how long jobs of an account and a width ran, and so how long the next is likely to.
//
// Plain data, a fold of what ended. An account that is new is taken for the average one, and the
// first jobs of a width weigh against those of the whole account: by so many that a single odd job
// does not decide. Whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "model/time.h"

namespace dove::core {

class RunHistory {
 public:
  void ended(std::int64_t account, std::int64_t size_milli, Span ran);
  // Of a job that starts now; 10 minutes without any history.
  Span likely(std::int64_t account, std::int64_t size_milli) const;
  Span mean() const;

 private:
  struct Counts {
    std::int64_t ended = 0;
    std::int64_t ran_ms = 0;
  };

  static std::int64_t mean_ms(const Counts& counts, std::int64_t prior_ms, std::int64_t prior_jobs);

  Counts all_;
  std::map<std::int64_t, Counts> by_account_;
  std::map<std::pair<std::int64_t, std::int32_t>, Counts> by_width_;
};

}  // namespace dove::core
