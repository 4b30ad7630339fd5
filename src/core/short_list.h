// ShortList: a vector whose first N elements take no memory of their own.
//
// For what is nearly always short and is made anew in every search: devices of a node, NUMA nodes.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>

namespace dove::core {

template <class T, std::size_t N>
using ShortList = boost::container::small_vector<T, N>;

}  // namespace dove::core
