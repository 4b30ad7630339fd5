// HugePages: the memory that an administrator has set aside in huge pages, as the kernel lists it
// in /sys/kernel/mm/hugepages.
//
// Pages that the kernel may add when they are wanted (nr_overcommit_hugepages) are not counted:
// nobody can promise them. Source: Documentation/admin-guide/mm/hugetlbpage.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/resources.h"

namespace dove::devices {

struct HugePages {
  std::vector<Countable> offered;  // bytes, ascending by name; sizes without pages are left out
  std::vector<std::int64_t> node_bytes;  // of all sizes, on each NUMA node; by the nodes' numbers
};

// None where the kernel has none. `sys_root` is "/sys", but for tests.
HugePages find_huge_pages(const std::string& sys_root);

}  // namespace dove::devices
