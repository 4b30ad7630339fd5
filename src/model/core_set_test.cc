#include "model/core_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/random.h"

namespace dove {
namespace {

using Ids = std::set<std::int32_t>;

CoreSet set_of(const Ids& ids) {
  return CoreSet(std::vector<std::int32_t>(ids.begin(), ids.end()));
}

Ids ids_of(const CoreSet& set) { return Ids(set.begin(), set.end()); }

// One of three sorts: on few cores, where words begin and end, beyond what lies in the object.
Ids some_ids(Random& random) {
  const std::uint64_t ends[] = {8, 260, 2000};
  const std::uint64_t end = ends[random.below(3)];
  Ids ids;
  for (std::uint64_t left = random.below(40); left > 0; --left) {
    ids.insert(static_cast<std::int32_t>(random.below(end)));
  }
  return ids;
}

template <class Algorithm>
Ids by(Algorithm algorithm, const Ids& a, const Ids& b) {
  Ids found;
  algorithm(a.begin(), a.end(), b.begin(), b.end(), std::inserter(found, found.end()));
  return found;
}

TEST(CoreSet, IsWhatAnOrderedSetIs) {
  using Iterator = Ids::const_iterator;
  using Into = std::insert_iterator<Ids>;
  Random random(3);
  for (int round = 0; round < 5000; ++round) {
    SCOPED_TRACE(round);
    const Ids a = some_ids(random);
    const Ids b = some_ids(random);
    const CoreSet one = set_of(a);
    const CoreSet other = set_of(b);
    ASSERT_EQ(ids_of(one), a);
    ASSERT_EQ(one.size(), a.size());
    ASSERT_EQ(one.empty(), a.empty());
    ASSERT_EQ(one == other, a == b);
    const Ids both = by(std::set_intersection<Iterator, Iterator, Into>, a, b);
    ASSERT_EQ(ids_of(one | other), by(std::set_union<Iterator, Iterator, Into>, a, b));
    ASSERT_EQ(ids_of(one & other), both);
    ASSERT_EQ(ids_of(one - other), by(std::set_difference<Iterator, Iterator, Into>, a, b));
    ASSERT_EQ(one.size_with(other), both.size());
    ASSERT_EQ(one.contains(other), both.size() == b.size());
    // However it came about: equal sets are equal.
    ASSERT_EQ((one | other) - other,
              set_of(by(std::set_difference<Iterator, Iterator, Into>, a, b)));
    ASSERT_EQ((one & other).size(), both.size());
    const auto id = static_cast<std::int32_t>(random.below(2100));
    ASSERT_EQ(one.contains(id), a.contains(id));
  }
}

TEST(CoreSet, TheFirstOnesAreTheLowest) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const Ids ids = some_ids(random);
    const std::size_t count = random.below(ids.size() + 3);
    const auto end =
        std::next(ids.begin(), static_cast<std::ptrdiff_t>(std::min(count, ids.size())));
    ASSERT_EQ(set_of(ids).first(count), set_of(Ids(ids.begin(), end))) << "round " << round;
  }
}

TEST(CoreSet, HoldsTheHighestIdThatThereMayBe) {
  CoreSet set = {0, 255, 256, CoreSet::kEnd - 1};
  EXPECT_EQ(set.ids(), (std::vector<std::int32_t>{0, 255, 256, CoreSet::kEnd - 1}));
  EXPECT_FALSE(set.contains(-1));
  EXPECT_FALSE(set.contains(CoreSet::kEnd));
  set.clear();
  EXPECT_EQ(set, CoreSet());
}

}  // namespace
}  // namespace dove
