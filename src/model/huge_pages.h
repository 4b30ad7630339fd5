// Huge pages: a countable of bytes for each size of page, as Kubernetes names them:
// "hugepages-2Mi", "hugepages-1Gi". An amount of one is a whole number of pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dove {

inline constexpr std::string_view kHugePages = "hugepages-";

// The bytes of one page of this countable; 0: it is not one of huge pages. A size has one name: a
// power of two below 1024, of Ki, Mi or Gi.
constexpr std::int64_t huge_page_bytes(std::string_view countable) {
  if (!countable.starts_with(kHugePages)) return 0;
  countable.remove_prefix(kHugePages.size());
  std::int64_t unit_bytes = 0;
  if (countable.ends_with("Ki")) unit_bytes = std::int64_t{1} << 10;
  if (countable.ends_with("Mi")) unit_bytes = std::int64_t{1} << 20;
  if (countable.ends_with("Gi")) unit_bytes = std::int64_t{1} << 30;
  if (unit_bytes == 0 || countable.size() > 5 || countable.front() == '0') return 0;
  countable.remove_suffix(2);
  std::int64_t count = 0;
  for (const char digit : countable) {
    if (digit < '0' || digit > '9') return 0;
    count = count * 10 + (digit - '0');
  }
  return (count & (count - 1)) == 0 ? count * unit_bytes : 0;
}

// REQUIRES: a power of two from 1 KiB to 512 GiB.
inline std::string huge_pages_name(std::int64_t page_bytes) {
  std::int64_t count = page_bytes >> 10;
  const char* unit = "Ki";
  for (const char* larger : {"Mi", "Gi"}) {
    if (count < 1024) break;
    count >>= 10;
    unit = larger;
  }
  return std::string(kHugePages) + std::to_string(count) + unit;
}

}  // namespace dove
