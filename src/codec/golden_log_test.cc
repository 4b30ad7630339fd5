// Logs of former versions stay readable for ever.
//
// tests/golden/log_v<N>.txt holds one record of every kind as version N of the format wrote them:
// lines `event|decision NAME HEX`. When what is written today is not the newest file, DOVE_BLESS=1
// writes the next one; the old ones are never changed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "codec/layouts.h"
#include "codec/record.h"
#include "codec/record_samples.h"

namespace dove::codec {
namespace {

std::string golden_path(int version) {
  return fmt::format("{}/tests/golden/log_v{}.txt", DOVE_SOURCE_DIR, version);
}

// The newest version that has a file; 0 when none has.
int newest_version() {
  int version = 0;
  while (std::filesystem::exists(golden_path(version + 1))) ++version;
  return version;
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// An object of a kind that came with level 2: below that core::admit refuses it.
bool is_later_object(const Event& event) {
  const auto* applied = std::get_if<ObjectApplied>(&event);
  return applied != nullptr && std::holds_alternative<BootConfig>(applied->object);
}

std::vector<std::string> lines_at(std::int32_t level) {
  std::vector<std::string> lines;
  for (const StampedEvent& event : sample_events()) {
    if (level < 2 && is_later_object(event.event)) continue;
    std::string bytes;
    encode(event, bytes, level);
    lines.push_back(fmt::format("event {} {}", kind_name(event.event), hex_of(bytes)));
  }
  for (const Decision& decision : sample_decisions()) {
    std::string bytes;
    encode(decision, bytes, level);
    lines.push_back(fmt::format("decision {} {}", kind_name(decision), hex_of(bytes)));
  }
  return lines;
}

void check_line(const std::string& type, const std::string& name, const std::string& bytes) {
  std::string again;
  if (type == "event") {
    auto decoded = decode_event(bytes);
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
    EXPECT_EQ(kind_name(decoded->event), name);
    encode(*decoded, again);
    EXPECT_EQ(decode_event(again)->event, decoded->event);
  } else {
    auto decoded = decode_decision(bytes);
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
    EXPECT_EQ(kind_name(*decoded), name);
    encode(*decoded, again);
    EXPECT_EQ(*decode_decision(again), *decoded);
  }
}

TEST(GoldenLog, EveryVersionStaysReadable) {
  ASSERT_GE(newest_version(), 1) << golden_path(1) << " is missing";
  for (int version = 1; version <= newest_version(); ++version) {
    std::ifstream file(golden_path(version));
    std::string type, name, hex;
    int records = 0;
    while (file >> type >> name >> hex) {
      check_line(type, name, bytes_of(hex));
      ++records;
    }
    EXPECT_GE(records, 33);
  }
}

std::vector<std::string> lines_of(int version) {
  std::ifstream file(golden_path(version));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(GoldenLog, TheNewestIsWhatIsWrittenToday) {
  const auto today = lines_at(kNewestLevel);
  if (std::getenv("DOVE_BLESS") != nullptr && lines_of(newest_version()) != today) {
    std::ofstream file(golden_path(newest_version() + 1));
    for (const std::string& line : today) file << line << "\n";
  }
  EXPECT_TRUE(lines_of(newest_version()) == today)
      << "the format of the log changed: raise the version of the kind or the layout of the noun, "
         "keep reading the old one, name it in codec/layouts.h, then run with DOVE_BLESS=1, which "
         "writes the next golden log";
}

// The golden log of each level but the newest: what the last version of that level wrote.
constexpr std::array kGoldenOfLevel{24};

std::set<std::string> kinds_of(const std::vector<std::string>& lines) {
  std::set<std::string> kinds;
  for (const std::string& line : lines) kinds.insert(line.substr(0, line.rfind(' ')));
  return kinds;
}

TEST(GoldenLog, EachKindIsNamedThatALevelBrought) {
  for (std::int32_t level = kFirstLevel; level < kNewestLevel; ++level) {
    const auto kinds = kinds_of(lines_of(kGoldenOfLevel[static_cast<std::size_t>(level) - 1]));
    std::set<std::string> came;
    for (const NewKind& each : kNewKinds) {
      if (each.level > level) came.emplace(each.kind);
    }
    std::set<std::string> found;
    for (const std::string& kind : kinds_of(lines_at(kNewestLevel))) {
      if (!kinds.contains(kind)) found.insert(kind.substr(kind.find(' ') + 1));
    }
    EXPECT_EQ(found, came) << "level " << level << ": name new kinds in codec/layouts.h";
  }
}

TEST(GoldenLog, AtAFormerLevelItIsWrittenAsTheFormerVersionDid) {
  static_assert(kGoldenOfLevel.size() == kNewestLevel - 1);
  for (std::int32_t level = kFirstLevel; level < kNewestLevel; ++level) {
    const auto former = lines_of(kGoldenOfLevel[static_cast<std::size_t>(level) - 1]);
    const std::set<std::string> kinds = kinds_of(former);
    std::vector<std::string> now = lines_at(level);
    std::erase_if(now, [&](const std::string& line) {
      return !kinds.contains(line.substr(0, line.rfind(' ')));
    });
    ASSERT_EQ(now.size(), former.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      EXPECT_EQ(now[i], former[i]) << "level " << level << ": name the change in codec/layouts.h";
    }
  }
}

// What was decided is folded whole, not as it is read back.
TEST(GoldenLog, DecisionsAreTheSameAtEachLevel) {
  for (const Decision& decision : sample_decisions()) {
    std::string newest;
    encode(decision, newest);
    for (std::int32_t level = kFirstLevel; level < kNewestLevel; ++level) {
      std::string bytes;
      encode(decision, bytes, level);
      EXPECT_EQ(bytes, newest) << kind_name(decision);
    }
  }
}

// As the program of the former version does, which has no other way to tell.
TEST(GoldenLog, AProgramOfAFormerLevelReadsWhatThatHasAndRefusesTheRest) {
  for (std::int32_t level = kFirstLevel; level < kNewestLevel; ++level) {
    for (const StampedEvent& event : sample_events()) {
      const std::string_view name = kind_name(event.event);
      std::string newest, at_level;
      encode(event, newest);
      encode(event, at_level, level);
      const bool is_new = newest_read(level, name, 1) == 0;
      EXPECT_EQ(decode_event(at_level, level).ok(), !is_new) << name;
      const auto read = decode_event(newest, level);
      EXPECT_EQ(read.ok(), newest == at_level && !is_new) << name;
      if (!read.ok()) {
        EXPECT_EQ(read.error().code, "record_newer") << name;
      }
    }
  }
}

TEST(GoldenLog, ALogOfANewerLevelIsRefused) {
  for (const Event& event : {Event(LevelRaised{kNewestLevel + 1}),
                             Event(ControllerStarted{"b", "p", kNewestLevel + 1})}) {
    std::string bytes;
    encode(StampedEvent{event, {}}, bytes);
    EXPECT_EQ(decode_event(bytes).error().code, "record_newer");
  }
}

TEST(GoldenLog, WhatALevelCannotHoldIsLeftOut) {
  const StampedEvent said{
      ExecutorNodeObserved{"slurm", NodeId{1}, ExecutorNodeState::kUp, "", {"ib"}}, {}};
  EXPECT_EQ(at_level(said, kNewestLevel).event, said.event);
  EXPECT_TRUE(std::get<ExecutorNodeObserved>(at_level(said, 1).event).features.empty());
}

}  // namespace
}  // namespace dove::codec
