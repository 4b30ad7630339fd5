// AttemptKey: what an agent holds at most once.
#pragma once

#include <compare>
#include <string>

#include "model/ids.h"

namespace dove::protocol {

struct AttemptKey {
  JobId job;
  AttemptNumber attempt = 0;
  auto operator<=>(const AttemptKey&) const = default;
  std::string text() const {  // "7.1"
    return std::to_string(job.value) + '.' + std::to_string(attempt);
  }
};

// The key's fields stand among those of what it is the key of.
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<AttemptKey>& v) {
  ar.must("job", v.job);
  ar.must("attempt", v.attempt);
}

}  // namespace dove::protocol
