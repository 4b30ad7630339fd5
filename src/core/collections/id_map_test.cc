#include "core/collections/id_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"
#include "model/ids.h"

namespace dove::core {
namespace {

using Mapped = IdMap<JobId, std::string>;

void expect_same(const Mapped& got, const std::map<JobId, std::string>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  auto at = got.begin();
  for (const auto& [id, value] : wanted) {
    ASSERT_FALSE(at == got.end());
    EXPECT_EQ(at->first, id);
    EXPECT_EQ(at->second, value);
    ++at;
  }
  EXPECT_TRUE(at == got.end());
}

TEST(IdMap, DoesWhatAMapDoes) {
  Random random(3);
  Mapped got;
  std::map<JobId, std::string> wanted;
  std::uint64_t newest = 0;
  for (int i = 0; i < 20'000; ++i) {
    const JobId any(newest - std::min<std::uint64_t>(newest, random.below(1500)));
    switch (random.below(4)) {
      case 0:
      case 1:
        newest += 1 + random.below(3);
        got.emplace(JobId(newest), std::to_string(newest));
        wanted.emplace(JobId(newest), std::to_string(newest));
        break;
      case 2:
        EXPECT_EQ(got.erase(any), wanted.erase(any));
        break;
      default: {
        EXPECT_EQ(got.contains(any), wanted.contains(any));
        const auto at = got.lower_bound(any);
        const auto same = wanted.lower_bound(any);
        ASSERT_EQ(at == got.end(), same == wanted.end());
        if (same != wanted.end()) {
          EXPECT_EQ(at->first, same->first);
        }
      }
    }
    if (i % 1000 == 0) expect_same(got, wanted);
  }
  expect_same(got, wanted);
  const Mapped copy = got;
  while (!got.empty()) got.erase(got.begin());
  EXPECT_TRUE(got.begin() == got.end());
  expect_same(copy, wanted);
}

TEST(IdMap, ReferencesStay) {
  Mapped map;
  std::string& first = map[JobId(700)];
  first = "kept";
  for (std::uint64_t id = 1; id < 2000; ++id) map[JobId(id)];
  for (std::uint64_t id = 1; id < 2000; ++id) {
    if (id != 700) map.erase(JobId(id));
  }
  EXPECT_EQ(&map.find(JobId(700))->second, &first);
  EXPECT_EQ(map.begin()->first, JobId(700));
  EXPECT_FALSE(map.try_emplace(JobId(700)).second);
}

}  // namespace
}  // namespace dove::core
