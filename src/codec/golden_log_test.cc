// Logs of former versions stay readable for ever.
//
// tests/golden/log_v<N>.txt holds one record of every kind as version N of the format wrote them:
// lines `event|decision NAME HEX`. A change that raises a version blesses a new file (DOVE_BLESS=1
// writes the newest, if it does not exist yet) and leaves the old ones alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "codec/record.h"
#include "codec/record_samples.h"

namespace dove::codec {
namespace {

constexpr int kNewest = 1;

std::string golden_path(int version) {
  return fmt::format("{}/tests/golden/log_v{}.txt", DOVE_SOURCE_DIR, version);
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

std::vector<std::string> current_lines() {
  std::vector<std::string> lines;
  for (const StampedEvent& event : sample_events()) {
    std::string bytes;
    encode(event, bytes);
    lines.push_back(fmt::format("event {} {}", kind_name(event.event), hex_of(bytes)));
  }
  for (const Decision& decision : sample_decisions()) {
    std::string bytes;
    encode(decision, bytes);
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
  for (int version = 1; version <= kNewest; ++version) {
    std::ifstream file(golden_path(version));
    ASSERT_TRUE(file) << golden_path(version) << " is missing";
    std::string type, name, hex;
    int records = 0;
    while (file >> type >> name >> hex) {
      check_line(type, name, bytes_of(hex));
      ++records;
    }
    EXPECT_GE(records, 33);
  }
}

TEST(GoldenLog, TheNewestIsWhatIsWrittenToday) {
  const std::string path = golden_path(kNewest);
  if (std::getenv("DOVE_BLESS") != nullptr && !std::filesystem::exists(path)) {
    std::ofstream file(path);
    for (const std::string& line : current_lines()) file << line << "\n";
  }
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  EXPECT_EQ(lines, current_lines())
      << "the format of the log changed: raise the version of the kind or noun, keep reading the "
         "old one, raise kNewest here and run with DOVE_BLESS=1";
}

}  // namespace
}  // namespace dove::codec
