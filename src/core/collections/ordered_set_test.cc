#include "core/collections/ordered_set.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/collections/move_in.h"

namespace dove::core {
namespace {

using Pairs = OrderedSet<std::pair<std::int64_t, std::int64_t>>;
using Wanted = std::set<std::pair<std::int64_t, std::int64_t>>;

void expect_same(const Pairs& got, const Wanted& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
}

void expect_same_bounds(const Pairs& got, const Wanted& wanted, const Pairs::value_type& any) {
  const auto expect_at = [&](Pairs::iterator at, Wanted::const_iterator same) {
    ASSERT_EQ(at == got.end(), same == wanted.end());
    if (same != wanted.end()) {
      EXPECT_EQ(*at, *same);
    }
  };
  expect_at(got.lower_bound(any), wanted.lower_bound(any));
  expect_at(got.upper_bound(any), wanted.upper_bound(any));
  expect_at(got.find(any), wanted.find(any));
  EXPECT_EQ(got.contains(any), wanted.contains(any));
}

TEST(OrderedSet, DoesWhatASetDoes) {
  Random random(5);
  Pairs got;
  Wanted wanted;
  // It grows, shrinks to nothing, and grows again.
  for (int i = 0; i < 60'000; ++i) {
    const std::uint64_t adds = i / 10'000 % 2 == 0 ? 7 : 3;
    const Pairs::value_type any(static_cast<std::int64_t>(random.below(3000)), 1);
    if (random.below(10) < adds) {
      EXPECT_EQ(got.insert(any), wanted.insert(any).second);
    } else {
      EXPECT_EQ(got.erase(any), wanted.erase(any));
    }
    if (i % 10 == 0) expect_same_bounds(got, wanted, {any.first, static_cast<int>(i % 3)});
    if (i % 1000 == 0) expect_same(got, wanted);
  }
  expect_same(got, wanted);
  const Pairs copy = got;
  const Wanted copied = wanted;
  while (!got.empty()) EXPECT_EQ(got.erase(*got.begin()), 1u);
  EXPECT_TRUE(got.begin() == got.end());
  expect_same(copy, copied);
}

TEST(OrderedSet, WorksAsALine) {
  Random random(6);
  Pairs got;
  Wanted wanted;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    // Some come in between, some go before their turn.
    const Pairs::value_type next(i - static_cast<std::int64_t>(random.below(3) * 5), 0);
    EXPECT_EQ(got.insert(next), wanted.insert(next).second);
    if (wanted.size() > static_cast<std::size_t>(i / 10'000) * 300 + 20) {
      EXPECT_EQ(*got.begin(), *wanted.begin());
      got.erase(*got.begin());
      wanted.erase(wanted.begin());
    }
    if (i % 7 == 0) {
      EXPECT_EQ(got.erase(next), wanted.erase(next));
    }
    if (i % 500 == 0) expect_same(got, wanted);
  }
  expect_same(got, wanted);
}

TEST(OrderedSet, IsMadeOfAListInAnyOrder) {
  Random random(7);
  for (const std::uint64_t sorted_of_10 : {0, 9, 10}) {
    std::vector<Pairs::value_type> list;
    for (std::int64_t i = 0; i < 3000; ++i) {
      const bool is_next = random.below(10) < sorted_of_10;
      list.emplace_back(is_next ? i / 2 : static_cast<std::int64_t>(random.below(3000)), 1);
    }
    Pairs got(list.begin(), list.end());
    Wanted wanted(list.begin(), list.end());
    expect_same(got, wanted);
    // After the first ones have gone, and into what is there.
    for (int i = 0; i < 100; ++i) {
      got.erase(*got.begin());
      wanted.erase(wanted.begin());
    }
    for (auto& [first, second] : list) second = 2;
    got.insert(list.begin(), list.end());
    wanted.insert(list.begin(), list.end());
    expect_same(got, wanted);
    expect_same_bounds(got, wanted, {1500, 1});
  }
}

TEST(OrderedSet, AnEntryMoves) {
  OrderedSet<int> set = {5, 3, 8};
  move_in(set, std::optional(3), std::optional(9));
  move_in(set, std::optional(8), std::optional(8));
  move_in(set, std::optional(5), std::nullopt);
  move_in(set, std::nullopt, std::optional(1));
  EXPECT_TRUE(set == OrderedSet<int>({1, 8, 9}));
}

}  // namespace
}  // namespace dove::core
