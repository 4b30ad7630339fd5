// Moves an entry of an ordered set to the place of its new value.
#pragma once

#include <optional>

namespace dove::core {

// Moves what stands in the set as `before`, if it does, to `now`; nothing: it is not to be there.
template <class Set>
void move_in(Set& set, const std::optional<typename Set::key_type>& before,
             const std::optional<typename Set::key_type>& now) {
  if (before && before != now) set.erase(*before);
  if (now) set.insert(*now);
}

}  // namespace dove::core
