// Any bytes as YAML: a tree within its limits, or an error that names its place; never a crash.
//
// seeds: tests/seeds/native
// seeds: tests/seeds/inventories
// seeds: tests/seeds/cdi
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "yaml/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::yaml;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Limits limits{.values_max = 1000};
  if (const auto root = read("file", text, limits); root.ok()) {
    CHECK((*root)->weight <= limits.values_max, "the limit of values holds");
    CHECK((*root)->height <= kDepthMax, "the limit of levels holds");
  } else {
    CHECK(root.error().message.starts_with("file"), "an error names its place");
  }
  if (const auto all = read_documents("file", text, limits); all.ok()) {
    std::size_t values = 0;
    for (const ValueRef& one : *all) values += one->weight;
    CHECK(values <= limits.values_max + all->size(), "the limit holds for all documents together");
  }
  return 0;
}
