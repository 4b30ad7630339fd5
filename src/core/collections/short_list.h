// ShortList: a vector whose first N elements need no allocation.
//
// It is for lists that are nearly always short and are built anew in every search: devices of a
// node, NUMA nodes.
#pragma once

#include <cstddef>

// As with std::vector, indices are not checked here; sanitizers see what lies beyond.
#define BOOST_DISABLE_ASSERTS
#include <boost/container/small_vector.hpp>
#undef BOOST_DISABLE_ASSERTS
#include <boost/assert.hpp>

namespace dove::core {

template <class T, std::size_t N>
using ShortList = boost::container::small_vector<T, N>;

}  // namespace dove::core
