#include "devices/huge_pages.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "devices/sys_files.h"
#include "model/huge_pages.h"

namespace dove::devices {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPage_max = std::int64_t{512} << 30;

// The number in "hugepages-2048kB", "node12"; < 0: it is no such name.
std::int64_t number_in(const std::string& name, const std::string& before,
                       const std::string& after) {
  std::int64_t number = -1;
  if (!name.starts_with(before) || !name.ends_with(after)) return -1;
  const char* const end = name.data() + name.size() - after.size();
  const auto read =
      std::from_chars(name.data() + std::min(before.size(), name.size()), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : -1;
}

// For each size in one directory of the kernel's.
std::vector<Countable> pages_in(const fs::path& directory) {
  std::vector<Countable> found;
  for (const std::string& name : names_in(directory)) {
    const std::int64_t size_kib = number_in(name, "hugepages-", "kB");
    const std::int64_t pages = first_number(directory / name / "nr_hugepages").value_or(0);
    if (size_kib <= 0 || size_kib > kPage_max >> 10 || pages <= 0) continue;
    const std::int64_t page_bytes = size_kib << 10;
    const std::string countable = huge_pages_name(page_bytes);
    if (huge_page_bytes(countable) == page_bytes) found.push_back({countable, pages * page_bytes});
  }
  std::sort(found.begin(), found.end(),
            [](const Countable& a, const Countable& b) { return a.name < b.name; });
  return found;
}

}  // namespace

HugePages find_huge_pages(const std::string& sys_root) {
  HugePages found;
  found.offered = pages_in(fs::path(sys_root) / "kernel/mm/hugepages");
  if (found.offered.empty()) return found;
  const fs::path nodes = fs::path(sys_root) / "devices/system/node";
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names_in(nodes)) {
    const std::int64_t number = number_in(name, "node", "");
    if (number >= 0) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  for (const std::int64_t number : numbers) {
    std::int64_t bytes = 0;
    for (const Countable& one : pages_in(nodes / ("node" + std::to_string(number)) / "hugepages")) {
      bytes += one.amount;
    }
    found.node_bytes.push_back(bytes);
  }
  return found;
}

}  // namespace dove::devices
