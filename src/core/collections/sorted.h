// A short sorted vector as a set: contiguous, and it keeps its capacity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
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

// Takes `touched`, which ascend, out of the set, and puts those in that belong there now: one walk
// over the set, however many they are.
template <class T, class Belongs>
void renew_sorted(std::vector<T>& set, std::span<const T> touched, Belongs belongs) {
  std::vector<T> rest;
  rest.reserve(set.size() + touched.size());
  std::set_difference(set.begin(), set.end(), touched.begin(), touched.end(),
                      std::back_inserter(rest));
  const auto middle = static_cast<std::ptrdiff_t>(rest.size());
  std::copy_if(touched.begin(), touched.end(), std::back_inserter(rest), belongs);
  std::inplace_merge(rest.begin(), rest.begin() + middle, rest.end());
  set = std::move(rest);
}

}  // namespace dove::core
