// field_count<T>(): how many fields an aggregate has, for tests that every one of them is stored.
#pragma once

#include <cstddef>
#include <utility>

namespace dove::codec {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT: converts to whatever a field is
};
template <std::size_t>
using AnythingAt = Anything;

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{AnythingAt<I>{}...}; };
}

// The most fields that T can be made of.
template <class T, std::size_t N = 48>
constexpr std::size_t field_count() {
  if constexpr (N == 0 || takes<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return field_count<T, N - 1>();
  }
}

}  // namespace dove::codec
