// IdMap: which user and group ids of the machine stand behind those that a container sees.
//
// Root inside is nobody outside: ids 0 to 65535 are ids of no user of the machine, all containers
// the same ones, so that two that share a volume see the same owners. A task that runs as its
// submitting Linux user keeps that user's ids as they are. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dove::containers {

inline constexpr std::uint32_t kIdCount = 65'536;
inline constexpr std::uint32_t kIdBase = 0x6f00'0000;  // outside what distributions give to users

struct IdRange {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::uint32_t count = 0;
  bool operator==(const IdRange&) const = default;
};
using IdMap = std::vector<IdRange>;  // ascending by `inside`, without overlaps

// All ids from kIdBase on, but each of `same` itself (those of kIdCount or more are added).
IdMap map_ids(std::vector<std::uint32_t> same);

// The same, but root inside is `outside`, which `map` must not lead to.
IdMap map_root(IdMap map, std::uint32_t outside);

// The id outside of `inside`; kIdBase where the map does not say.
std::uint32_t outside_of(const IdMap& map, std::uint32_t inside);

// "0:1862270976:1000,1000:1000:1,…", as dove-contain takes it.
std::string id_map_text(const IdMap& map);

}  // namespace dove::containers
