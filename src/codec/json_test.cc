#include "codec/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/quantity.h"
#include "codec/record.h"
#include "codec/record_samples.h"
#include "codec/words.h"
#include "model/new_cluster.h"

namespace dove::codec {
namespace {

using Json = nlohmann::json;

TEST(Quantity, Bytes) {
  EXPECT_EQ(*parse_bytes("512"), 512);
  EXPECT_EQ(*parse_bytes("4Gi"), std::int64_t{4} << 30);
  EXPECT_EQ(*parse_bytes("4GiB"), std::int64_t{4} << 30);
  EXPECT_EQ(*parse_bytes("4G"), 4'000'000'000);
  EXPECT_EQ(*parse_bytes("1.5Ti"), std::int64_t{3} << 39);
  EXPECT_EQ(*parse_bytes("100kB"), 100'000);
  for (const char* bad : {"", "Gi", "-1", "1.", ".5", "1.5.5", "4gi", "1e3", "0x10", "1 Gi",
                          "9999999999999999999", "16Ei", "٤"}) {
    EXPECT_FALSE(parse_bytes(bad).ok()) << bad;
  }
}

TEST(Quantity, Spans) {
  EXPECT_EQ(*parse_span("90"), seconds(90));
  EXPECT_EQ(*parse_span("2h"), seconds(7200));
  EXPECT_EQ(*parse_span("1h30m"), seconds(5400));
  EXPECT_EQ(*parse_span("1.5h"), seconds(5400));
  EXPECT_EQ(*parse_span("500ms"), milliseconds(500));
  EXPECT_EQ(*parse_span("1:30"), seconds(90));
  EXPECT_EQ(*parse_span("01:00:00"), seconds(3600));
  EXPECT_EQ(*parse_span("2-12:30:15"), seconds(2 * 86400 + 45015));
  for (const char* bad :
       {"", "h", "-1", "1:2:3:4", "1-", "1-2", "1h-", "2 h", "99999999999d", "9:99999999999"}) {
    EXPECT_FALSE(parse_span(bad).ok()) << bad;
  }
}

TEST(Quantity, InstantsComeBack) {
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00Z")->us, 0);
  EXPECT_EQ(rfc3339(Instant{0}), "1970-01-01T00:00:00.000000Z");
  const Instant at{1'767'319'445'123'456};
  EXPECT_EQ(*parse_instant(rfc3339(at)), at);
  EXPECT_EQ(parse_instant("2026-01-02T03:04:05.5+01:30")->us, 1'767'317'645'500'000);
  for (const char* bad :
       {"", "2026", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+9"}) {
    EXPECT_FALSE(parse_instant(bad).ok()) << bad;
  }
}

TEST(Quantity, ForPeople) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(std::int64_t{64} << 30), "64 GiB");
  EXPECT_EQ(human_bytes(std::int64_t{3} << 39), "1.5 TiB");
  EXPECT_EQ(human_span(seconds(7500)), "2h 5m");
  EXPECT_EQ(human_span(seconds(86'400)), "1d");
  EXPECT_EQ(human_span(milliseconds(250)), "250ms");
}

TEST(Json, DeclaredObjectsComeBack) {
  for (const Declared& object : sample_objects()) {
    const Json json = declared_json(object);
    auto got = read_declared(*parse_json(dump_json(json), 1 << 20));
    ASSERT_TRUE(got.ok()) << got.error().field << ": " << got.error().message;
    EXPECT_EQ(*got, object) << json.dump();
  }
  auto defaults = read_declared({{"kind", "Cluster"}});
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(*defaults, Declared{new_cluster_settings()});
}

TEST(Json, TopologyOfANode) {
  const auto read = [](const char* topology) {
    return read_declared(*parse_json(
        fmt::format(R"({{"kind": "Node", "name": "n", "topology": {}}})", topology), 4096));
  };
  const auto good = read(R"([{"level": "switch", "name": "s1"}, {"level": "rack", "name": "r1"}])");
  ASSERT_TRUE(good.ok()) << good.error().message;
  const std::vector<TopologyUnit> wanted = {{"switch", "s1"}, {"rack", "r1"}};
  EXPECT_EQ(std::get<NodeDeclaration>(*good).topology, wanted);
  EXPECT_EQ(read(R"([{"level": "rack"}])").error().field, "topology[0].name");
  EXPECT_EQ(read(R"([{"level": "node", "name": "n"}])").error().field, "topology[0].level");
  EXPECT_EQ(
      read(R"([{"level": "rack", "name": "a"}, {"level": "rack", "name": "b"}])").error().code,
      "given_twice");
}

TEST(Json, WhatAgentsSendComesBack) {
  const Placement placement = sample_placement();
  EXPECT_EQ(*read_placement(placement_json(placement)), placement);
  const Inventory inventory = sample_inventory();
  EXPECT_EQ(*read_inventory(inventory_json(inventory)), inventory);
  const TaskExit exit{3, 1, 9, "fenced"};
  EXPECT_EQ(*read_task_exit(task_exit_json(exit)), exit);
  Json newer = task_exit_json(exit);
  newer["added_later"] = 7;
  EXPECT_EQ(*read_task_exit(newer), exit);
}

TEST(Json, BrokenInventoriesAreRefused) {
  Json inventory = inventory_json(sample_inventory());
  inventory["numa"][1]["cores"][0] = 0;
  EXPECT_EQ(read_inventory(inventory).error().code, "given_twice");
  inventory["numa"][1]["cores"] = {7, 7};
  EXPECT_EQ(read_inventory(inventory).error().code, "given_twice");
  inventory = inventory_json(sample_inventory());
  inventory["links"][0]["device_b"] = 2;
  EXPECT_EQ(read_inventory(inventory).error().field, "links");
  inventory = inventory_json(sample_inventory());
  inventory["memory_bytes"] = -1;
  EXPECT_EQ(read_inventory(inventory).error().field, "memory_bytes");
  inventory = inventory_json(sample_inventory());
  inventory["links"] = Json(20'000, inventory["links"][0]);
  EXPECT_EQ(read_inventory(inventory).error().code, "too_many");
}

TEST(Json, EveryRecordHasItsKindAndNoSecret) {
  for (const StampedEvent& event : sample_events()) {
    const Json json = event_json(event.event);
    EXPECT_EQ(json.at("kind"), kind_name(event.event));
    EXPECT_EQ(dump_json(json).find(std::string(64, 'b')), std::string::npos) << "an agent's token";
    EXPECT_EQ(dump_json(json).find(std::string(64, 'c')), std::string::npos) << "a join token";
  }
  for (const Decision& decision : sample_decisions()) {
    EXPECT_EQ(decision_json(decision).at("kind"), kind_name(decision));
  }
}

// What a text costs is its values, not its bytes.
TEST(Json, HasAtMostSoManyValues) {
  EXPECT_TRUE(parse_json("[1, 2, {\"a\": 3}]", 100, 5).ok());
  const auto most = parse_json("[1, 2, {\"a\": 3}]", 100, 4);
  ASSERT_FALSE(most.ok());
  EXPECT_EQ(most.error().kind, ErrorKind::kTooLarge);
  EXPECT_EQ(most.error().code, "too_many_values");
  EXPECT_NE(most.error().message.find("than the 4 values"), std::string::npos);
  EXPECT_EQ(most.error().field, "line 1, column 8");
  EXPECT_TRUE(parse_json(R"(["a, [b], {c}", "\",,"])", 100, 3).ok()) << "texts are one each";
  std::string lists = "[[]";
  for (int i = 0; i < 100'000; ++i) lists += ",[]";
  EXPECT_EQ(parse_json(lists + "]", 1 << 20, 200'000).error().code, "too_many_values");
  EXPECT_EQ(parse_json(lists, 1 << 20, 1'000).error().code, "too_many_values") << "before all else";
  EXPECT_TRUE(parse_json(lists + "]", 1 << 20).ok());
}

// As in JSON Schema's "integer".
TEST(Json, WholeNumbersMayHaveAPoint) {
  const auto read = [](const char* text) { return dump_json(*parse_json(text, 100)); };
  EXPECT_EQ(read("[25.0, 1e3, -0.0, -2.0]"), "[25,1000,0,-2]");
  EXPECT_EQ(read("[0.5, 9007199254740992.0]"), "[0.5,9007199254740992]");
  EXPECT_FALSE(parse_json("1e19", 100)->is_number_integer());
}

TEST(Json, DumpingNeverThrows) {
  EXPECT_EQ(dump_json(Json{{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace dove::codec
