// Snapshots of states.
//
// tests/golden/snapshot_v<N>.txt is sample_state() as version N of the format wrote it, in
// hexadecimal. When what is written today is not the newest file, DOVE_BLESS=1 writes the next one;
// the old ones are never changed.
#include "codec/state/snapshot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codec/state/state_samples.h"
#include "core/state/executors/foreign.h"
#include "core/state/hash.h"

namespace dove::codec {
namespace {

TEST(Snapshot, AStateComesBackWithItsHash) {
  const core::State state = sample_state();
  const std::string bytes = encode_snapshot(state);
  auto decoded = decode_snapshot(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(core::state_hash(*decoded), core::state_hash(state));
  EXPECT_EQ(encode_snapshot(*decoded), bytes);
  EXPECT_EQ(decoded->jobs.at(JobId{1}).spec, decoded->jobs.at(JobId{2}).spec) << "shared again";
  EXPECT_EQ(decoded->find_node("gpu-001")->cores_free, state.nodes.front().cores_free);
}

TEST(Snapshot, AnEmptyStateComesBack) {
  auto decoded = decode_snapshot(encode_snapshot(core::State()));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(core::state_hash(*decoded), core::state_hash(core::State()));
}

std::string golden_path(int version) {
  return fmt::format("{}/tests/golden/snapshot_v{}.txt", DOVE_SOURCE_DIR, version);
}

int newest_golden() {
  int version = 0;
  while (std::filesystem::exists(golden_path(version + 1))) ++version;
  return version;
}

std::string golden_bytes(int version) {
  std::ifstream file(golden_path(version));
  std::string hex;
  file >> hex;
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST(GoldenSnapshot, EveryVersionStaysReadable) {
  ASSERT_GE(newest_golden(), 1) << golden_path(1) << " is missing";
  for (int version = 1; version <= newest_golden(); ++version) {
    const auto decoded = decode_snapshot(golden_bytes(version));
    ASSERT_TRUE(decoded.ok()) << "version " << version << ": " << decoded.error().message;
    EXPECT_EQ(decoded->nodes.size(), 1u);
    EXPECT_EQ(decoded->jobs.size(), 3u);
  }
}

TEST(GoldenSnapshot, DamageOfAFormerVersionIsFound) {
  for (int version = 1; version <= newest_golden(); ++version) {
    std::string bytes = golden_bytes(version);
    bytes[bytes.find("gpu-001")] = 'G';
    EXPECT_EQ(decode_snapshot(bytes).error().code, "snapshot_damaged") << "version " << version;
  }
}

TEST(GoldenSnapshot, TheNewestIsWhatIsWrittenToday) {
  const std::string today = encode_snapshot(sample_state());
  if (std::getenv("DOVE_BLESS") != nullptr && golden_bytes(newest_golden()) != today) {
    std::ofstream file(golden_path(newest_golden() + 1));
    for (const unsigned char byte : today) file << fmt::format("{:02x}", byte);
    file << "\n";
  }
  EXPECT_TRUE(golden_bytes(newest_golden()) == today)
      << "the format of snapshots changed: raise a layout and the level of the state's hash, keep "
         "reading the old ones, then run with DOVE_BLESS=1, which writes the next golden snapshot";
}

// Without what the log can say from the second level on.
core::State sample_of_first_level() {
  core::State state = sample_state();
  state.level = kFirstLevel;
  for (core::NodeExecutor& executor : state.nodes[NodeId{1}].executors) executor.features.clear();
  state.boot_configs.clear();
  state.armed_boots.clear();
  return state;
}

TEST(GoldenSnapshot, AtTheFirstLevelItIsWrittenAsTheFormerVersionDid) {
  const core::State state = sample_of_first_level();
  EXPECT_TRUE(encode_snapshot(state) == golden_bytes(16)) << "name the change in codec/layouts.h";
  const auto decoded = decode_snapshot(encode_snapshot(state));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->level, kFirstLevel);
}

TEST(Snapshot, WhatIsKeptForLaterIsFreeUntilThenFromTheSecondLevelOn) {
  core::State state = sample_of_first_level();
  ForeignAllocation& kept = state.nodes[NodeId{1}].executors.front().foreign.front();
  kept.id = "reservation:course";
  kept.started_at = Instant{1};
  kept.may_requeue = false;
  for (state.level = kFirstLevel; state.level <= kNewestLevel; ++state.level) {
    const auto decoded = decode_snapshot(encode_snapshot(state));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(core::has_to_come(*decoded->find_node(NodeId{1})), state.level > kFirstLevel);
  }
}

TEST(Snapshot, DamageIsFound) {
  const std::string bytes = encode_snapshot(sample_state());
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(decode_snapshot(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_snapshot(bytes + "x").ok());
  std::string changed = bytes;
  changed[changed.find("gpu-001")] = 'G';
  EXPECT_EQ(decode_snapshot(changed).error().code, "snapshot_damaged");
  changed = bytes;
  changed[8] = 99;
  EXPECT_EQ(decode_snapshot(changed).error().code, "snapshot_newer");
}

}  // namespace
}  // namespace dove::codec
