// HugePageLimits: how many of the node's huge pages the processes of a cgroup may take.
//
// Enforced by the kernel's hugetlb controller, of cgroups v1 or v2. Any thread. Source:
// Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/hugetlb.rst.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace dove::agent {

using BytesByPage = std::map<std::int64_t, std::int64_t>;  // bytes, by those of one page

// Limits every size of pages that the kernel counts in the cgroup at `directory`, its own files
// being the list: to what `bytes` has of it, or to none at all. Both what is used and what is
// reserved by a mapping, so that a task that asks for more is refused as it maps, not killed later.
Result<void> limit_huge_pages(const std::string& directory, const BytesByPage& bytes);

}  // namespace dove::agent
