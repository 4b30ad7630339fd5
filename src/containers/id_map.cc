#include "containers/id_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::containers {

IdMap map_ids(std::vector<std::uint32_t> same) {
  std::sort(same.begin(), same.end());
  same.erase(std::unique(same.begin(), same.end()), same.end());
  IdMap map;
  std::uint32_t next = 0;
  const auto add_shifted = [&](std::uint32_t end) {
    if (next < end) map.push_back({next, kIdBase + next, end - next});
  };
  for (const std::uint32_t id : same) {
    add_shifted(std::min(id, kIdCount));
    map.push_back({id, id, 1});
    next = std::min(id, kIdCount - 1) + 1;
  }
  add_shifted(kIdCount);
  return map;
}

IdMap map_root(IdMap map, std::uint32_t outside) {
  IdRange& first = map.front();
  const IdRange root{0, outside, 1};
  if (first.count == 1) {
    first = root;
    return map;
  }
  first = {first.inside + 1, first.outside + 1, first.count - 1};
  map.insert(map.begin(), root);
  return map;
}

std::uint32_t outside_of(const IdMap& map, std::uint32_t inside) {
  for (const IdRange& range : map) {
    if (inside - range.inside < range.count) return range.outside + (inside - range.inside);
  }
  return kIdBase;
}

std::string id_map_text(const IdMap& map) {
  std::string text;
  for (const IdRange& range : map) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ",", range.inside, range.outside,
                        range.count);
  }
  return text;
}

}  // namespace dove::containers
