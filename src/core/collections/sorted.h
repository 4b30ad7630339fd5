// A short ascending vector as a set: in one piece, and it keeps its memory.
#pragma once

#include <algorithm>
#include <vector>

namespace dove::core {

// Whether it was not there.
template <class T>
bool add_sorted(std::vector<T>& set, const T& value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at != set.end() && *at == value) return false;
  set.insert(at, value);
  return true;
}

// Whether it was there.
template <class T>
bool drop_sorted(std::vector<T>& set, const T& value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at == set.end() || *at != value) return false;
  set.erase(at);
  return true;
}

}  // namespace dove::core
