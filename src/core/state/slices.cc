#include "core/state/slices.h"

#include <algorithm>
#include <array>
#include <bit>

namespace dove::core {
namespace {

// Legal starts of eight memory slots, of which the last has no processors of its own.
constexpr SlotSet kEach = 0b0111'1111;
constexpr SlotSet kPairs = 0b0101'0101;
constexpr SlotSet kPairs_but_last = 0b0001'0101;
constexpr SlotSet kHalves = 0b0001'0001;
constexpr SlotSet kFirst = 0b0000'0001;

// From `nvidia-smi mig -lgip` and `-lgipp`, MIG User Guide r570. Profiles with media extensions
// (+me) are left out.
constexpr std::array<SliceProfile, 3> kA30 = {
    {{"1g.6gb", 1, 1, 0b1111}, {"2g.12gb", 2, 2, 0b0101}, {"4g.24gb", 4, 4, kFirst}}};
constexpr std::array<SliceProfile, 6> kA100_40 = {{{"1g.5gb", 1, 1, kEach},
                                                   {"1g.10gb", 1, 2, kPairs},
                                                   {"2g.10gb", 2, 2, kPairs_but_last},
                                                   {"3g.20gb", 3, 4, kHalves},
                                                   {"4g.20gb", 4, 4, kFirst},
                                                   {"7g.40gb", 7, 8, kFirst}}};
constexpr std::array<SliceProfile, 6> kOf80 = {{{"1g.10gb", 1, 1, kEach},
                                                {"1g.20gb", 1, 2, kPairs},
                                                {"2g.20gb", 2, 2, kPairs_but_last},
                                                {"3g.40gb", 3, 4, kHalves},
                                                {"4g.40gb", 4, 4, kFirst},
                                                {"7g.80gb", 7, 8, kFirst}}};
constexpr std::array<SliceProfile, 6> kH100_94 = {{{"1g.12gb", 1, 1, kEach},
                                                   {"1g.24gb", 1, 2, kPairs},
                                                   {"2g.24gb", 2, 2, kPairs_but_last},
                                                   {"3g.47gb", 3, 4, kHalves},
                                                   {"4g.47gb", 4, 4, kFirst},
                                                   {"7g.94gb", 7, 8, kFirst}}};
constexpr std::array<SliceProfile, 6> kH200 = {{{"1g.18gb", 1, 1, kEach},
                                                {"1g.35gb", 1, 2, kPairs},
                                                {"2g.35gb", 2, 2, kPairs_but_last},
                                                {"3g.71gb", 3, 4, kHalves},
                                                {"4g.71gb", 4, 4, kFirst},
                                                {"7g.141gb", 7, 8, kFirst}}};

constexpr std::int64_t kAnyMemory_gib = std::int64_t{1} << 20;
// In this order: of several tables of a family the first whose memory suffices is the device's.
constexpr std::array<SliceTable, 6> kTables = {{{"A30", kAnyMemory_gib, 4, kA30},
                                                {"A100", 48, 8, kA100_40},
                                                {"A100", kAnyMemory_gib, 8, kOf80},
                                                {"H100", 85, 8, kOf80},
                                                {"H100", kAnyMemory_gib, 8, kH100_94},
                                                {"H200", kAnyMemory_gib, 8, kH200}}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Whether one of the words of "NVIDIA A100-SXM4-40GB" is the family.
bool has_word(std::string_view model, std::string_view family) {
  // By words: A100 is not part of A1000.
  while (!model.empty()) {
    const std::size_t end = std::min(model.find_first_of(" -_"), model.size());
    if (same_word(model.substr(0, end), family)) return true;
    model.remove_prefix(std::min(end + 1, model.size()));
  }
  return false;
}

SlotSet slots_from(std::int32_t start, std::int32_t size) {
  return ((SlotSet{1} << size) - 1) << start;
}

// Calls `use` with each legal start of which all slots are free.
template <class Use>
void for_free_starts(const SliceProfile& profile, SlotSet taken, Use use) {
  // Bit by bit, lowest first: ties go to the lowest start.
  for (SlotSet starts = profile.starts; starts != 0; starts &= starts - 1) {
    const std::int32_t start = std::countr_zero(starts);
    if ((taken & slots_from(start, profile.size)) == 0) use(start);
  }
}

}  // namespace

std::span<const SliceTable> slice_tables() { return kTables; }

const SliceTable* slice_table(const Device& device) {
  for (const SliceTable& table : kTables) {
    // The bounds lie well above the nominal sizes: what drivers report differs a little.
    if (device.memory_bytes > table.memory_max_gib << 30) continue;
    if (has_word(device.model, table.family)) return &table;
  }
  return nullptr;
}

const SliceProfile* find_profile(const SliceTable& table, std::string_view name) {
  for (const SliceProfile& profile : table.profiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

SlotSet slots_of(const SlicePlace& place) { return slots_from(place.start, place.size); }

std::int32_t share_milli_of(const SliceTable& table, const SliceProfile& profile) {
  // By memory slots: 3g of an A100 has half of its memory, though three sevenths of its processors.
  return kWholeDevice_milli * profile.size / table.slots;
}

std::int32_t least_share_milli(std::string_view name) {
  // The same profile means different parts of different models; a limit must hold on the smallest.
  std::int32_t least = 0;
  for (const SliceTable& table : kTables) {
    const SliceProfile* profile = find_profile(table, name);
    if (profile == nullptr) continue;
    const std::int32_t share = share_milli_of(table, *profile);
    least = least == 0 ? share : std::min(least, share);
  }
  return least;
}

std::int32_t places_left(const SliceTable& table, SlotSet taken) {
  // Over all profiles: a start that spoils a rare large profile counts less than one that spoils
  // several.
  std::int32_t places = 0;
  for (const SliceProfile& profile : table.profiles) places += slices_left(profile, taken);
  return places;
}

std::int32_t slices_left(const SliceProfile& profile, SlotSet taken) {
  std::int32_t count = 0;
  for_free_starts(profile, taken, [&](std::int32_t) { ++count; });
  return count;
}

std::optional<SlicePlace> best_place(const SliceTable& table, const SliceProfile& profile,
                                     // Greedy, one slice at a time: with eight slots and a few
                                     // starts that is close to the best packing.
                                     SlotSet taken) {
  std::optional<SlicePlace> best;
  std::int32_t most = -1;
  for_free_starts(profile, taken, [&](std::int32_t start) {
    const std::int32_t left = places_left(table, taken | slots_from(start, profile.size));
    if (left <= most) return;
    most = left;
    best = SlicePlace{start, profile.size, profile.compute};
  });
  return best;
}

}  // namespace dove::core
