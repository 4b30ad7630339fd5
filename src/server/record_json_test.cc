// Records as the API shows them, one of every kind: tests/golden/records.jsonl, which
// tests/e2e/openapi_test.py holds against api/openapi.yaml.
#include "server/record_json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "codec/json.h"
#include "codec/record.h"
#include "codec/record_samples.h"

namespace dove::server {
namespace {

const std::string kGoldenRecords = std::string(DOVE_SOURCE_DIR) + "/tests/golden/records.jsonl";

std::vector<std::string> shown_samples() {
  std::vector<std::string> lines;
  const auto add = [&](const auto& record, JobId job) {
    const RecordHead head{Seq{lines.size() + 1}, Instant{1'800'000'000'000'000}, job};
    lines.push_back(codec::dump_json(record_json(head, record)));
  };
  for (const StampedEvent& event : codec::sample_events()) add(event, job_of(event.event));
  for (const Decision& decision : codec::sample_decisions()) add(decision, job_of(decision));
  return lines;
}

std::vector<std::string> golden_records() {
  std::ifstream file(kGoldenRecords);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(GoldenRecords, AreWhatIsShownToday) {
  const std::vector<std::string> today = shown_samples();
  if (std::getenv("DOVE_BLESS") != nullptr) {
    std::ofstream file(kGoldenRecords);
    for (const std::string& line : today) file << line << "\n";
  }
  EXPECT_TRUE(golden_records() == today)
      << "what the API shows of records changed: say so in api/openapi.yaml, then run with "
         "DOVE_BLESS=1, which writes "
      << kGoldenRecords;
}

TEST(GoldenRecords, AreOfEveryKind) {
  std::set<std::string> kinds;
  for (const std::string& line : golden_records()) {
    kinds.insert(nlohmann::json::parse(line).at("kind"));
  }
  EXPECT_EQ(kinds.size(),
            std::variant_size_v<EventKinds::Variant> + std::variant_size_v<DecisionKinds::Variant>);
}

}  // namespace
}  // namespace dove::server
