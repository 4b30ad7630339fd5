#include "core/state/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace dove::core {
namespace {

Device device(const char* model, std::int64_t gib) {
  Device made;
  made.model = model;
  made.memory_bytes = gib << 30;
  return made;
}

std::int32_t most_of(const SliceTable& table, const char* name) {
  return slices_left(*find_profile(table, name), 0);
}

TEST(Slices, AnA100Of40IsCutAsItsMakerSays) {
  const SliceTable* table = slice_table(device("NVIDIA A100-SXM4-40GB", 40));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(most_of(*table, "1g.5gb"), 7);
  EXPECT_EQ(most_of(*table, "1g.10gb"), 4);
  EXPECT_EQ(most_of(*table, "2g.10gb"), 3);
  EXPECT_EQ(most_of(*table, "3g.20gb"), 2);
  EXPECT_EQ(most_of(*table, "4g.20gb"), 1);
  EXPECT_EQ(most_of(*table, "7g.40gb"), 1);
  EXPECT_EQ(find_profile(*table, "1g.18gb"), nullptr);
}

TEST(Slices, TheTableIsFoundByModelAndMemory) {
  EXPECT_EQ(most_of(*slice_table(device("A30", 24)), "1g.6gb"), 4);
  EXPECT_EQ(most_of(*slice_table(device("a100", 80)), "1g.10gb"), 7);
  EXPECT_EQ(most_of(*slice_table(device("H100", 80)), "3g.40gb"), 2);
  EXPECT_EQ(most_of(*slice_table(device("H100 NVL", 94)), "1g.12gb"), 7);
  EXPECT_EQ(most_of(*slice_table(device("NVIDIA H200", 141)), "1g.18gb"), 7);
  EXPECT_EQ(slice_table(device("L40S", 48)), nullptr);
  EXPECT_EQ(slice_table(device("MI300X", 192)), nullptr);
}

// What capacity relies on: slices of one profile never stand in each other's way.
TEST(Slices, LegalStartsOfAProfileDoNotOverlapAndSharesNeverExceedTheDevice) {
  for (const SliceTable& table : slice_tables()) {
    for (const SliceProfile& profile : table.profiles) {
      SlotSet covered = 0;
      for (std::int32_t start = 0; start < table.slots; ++start) {
        if ((profile.starts >> start & 1) == 0) continue;
        const SlotSet slots = slots_of({start, profile.size, profile.compute});
        EXPECT_EQ(covered & slots, 0u) << profile.name;
        EXPECT_EQ(slots >> table.slots, 0u) << profile.name;
        covered |= slots;
      }
      EXPECT_NE(covered, 0u) << profile.name;
      const std::int32_t share = share_milli_of(table, profile);
      EXPECT_LE(share * slices_left(profile, 0), kWholeDevice_milli) << profile.name;
      EXPECT_LE(least_share_milli(profile.name), share) << profile.name;
      EXPECT_GT(least_share_milli(profile.name), 0) << profile.name;
    }
  }
  EXPECT_EQ(least_share_milli("9g.9gb"), 0);
}

// Every legal place of every profile that lies beside `taken`, by trying all.
std::vector<SlicePlace> all_places(const SliceTable& table, SlotSet taken) {
  std::vector<SlicePlace> places;
  for (const SliceProfile& profile : table.profiles) {
    for (std::int32_t start = 0; start + profile.size <= table.slots; ++start) {
      bool free = (profile.starts >> start & 1) != 0;
      for (std::int32_t slot = start; slot < start + profile.size; ++slot) {
        free = free && (taken >> slot & 1) == 0;
      }
      if (free) places.push_back({start, profile.size, profile.compute});
    }
  }
  return places;
}

// Random lives of one device: each slice goes where, of all legal places, most are left for others;
// it is refused exactly when there is none; nothing overlaps.
TEST(Slices, TheBestPlaceIsTheBestOfAll) {
  Random random(11);
  int refused = 0;
  for (const SliceTable& table : slice_tables()) {
    std::vector<SlicePlace> live;
    SlotSet taken = 0;
    for (int i = 0; i < 3000; ++i) {
      if (!live.empty() && random.below(3) == 0) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(live.size()));
        taken &= ~slots_of(live[static_cast<std::size_t>(at)]);
        live.erase(live.begin() + at);
        continue;
      }
      const SliceProfile& profile = table.profiles[random.below(table.profiles.size())];
      std::optional<SlicePlace> best;
      std::size_t most = 0;
      for (const SlicePlace& place : all_places(table, taken)) {
        if (place.size != profile.size || place.compute != profile.compute) continue;
        const std::size_t left = all_places(table, taken | slots_of(place)).size();
        if (!best || left > most) best = place;
        most = std::max(most, left);
      }
      const std::optional<SlicePlace> place = best_place(table, profile, taken);
      ASSERT_EQ(place, best) << table.family << " " << profile.name << " beside " << taken;
      refused += place ? 0 : 1;
      if (!place) continue;
      ASSERT_EQ(taken & slots_of(*place), 0u);
      taken |= slots_of(*place);
      live.push_back(*place);
      EXPECT_EQ(places_left(table, taken),
                static_cast<std::int32_t>(all_places(table, taken).size()));
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace dove::core
