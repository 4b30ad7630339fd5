#include "codec/record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/random.h"
#include "codec/record_samples.h"
#include "codec/record_shape.h"

namespace dove::codec {

// A kind as it was (version 1) and as it is (version 2, with a field more).
struct ProbeV1 {
  std::string name;
};
struct ProbeV2 {
  std::string name;
  std::int32_t added = 7;
};
template <>
constexpr KindInfo kind_of<ProbeV1>() {
  return KindInfo{901, 1, "Probe"};
}
template <>
constexpr KindInfo kind_of<ProbeV2>() {
  return KindInfo{901, 2, "Probe"};
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ProbeV1>& v) {
  ar(v.name);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ProbeV2>& v) {
  ar(v.name);
  ar.since(2, v.added);
}

namespace {

TEST(Record, EveryEventComesBackAsItWas) {
  std::set<std::size_t> kinds;
  for (const StampedEvent& event : sample_events()) {
    std::string bytes;
    encode(event, bytes);
    auto decoded = decode_event(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(decoded->event, event.event) << kind_name(event.event);
    EXPECT_EQ(decoded->cause, event.cause);
    kinds.insert(event.event.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Event::Kinds>) << "record_samples.cc lacks a kind";
}

TEST(Record, EveryDecisionComesBackAsItWas) {
  std::set<std::size_t> kinds;
  for (const Decision& decision : sample_decisions()) {
    std::string bytes;
    encode(decision, bytes);
    auto decoded = decode_decision(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, decision) << kind_name(decision);
    kinds.insert(decision.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Decision::Kinds>) << "record_samples.cc lacks a kind";
}

TEST(Record, ExtremesComeBack) {
  JobSpec spec;
  spec.groups = {TaskGroup{}};
  spec.priority = std::numeric_limits<std::int32_t>::min();
  spec.time_limit = Span{std::numeric_limits<std::int64_t>::max()};
  spec.begin_at = Instant{std::numeric_limits<std::int64_t>::min()};
  spec.name = std::string("\0\xff", 2);
  const StampedEvent event{JobSubmitted{std::make_shared<const JobSpec>(spec)}, {}};
  std::string bytes;
  encode(event, bytes);
  auto decoded = decode_event(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->event, event.event);
}

TEST(Record, AnEmptyEnvelopeCostsOneByte) {
  std::string bytes;
  encode(StampedEvent{TimeReached{}, {}}, bytes);
  EXPECT_EQ(bytes.size(), 3u);
}

TEST(Record, EveryTruncationIsRefused) {
  for (const StampedEvent& event : sample_events()) {
    std::string bytes;
    encode(event, bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      auto decoded = decode_event(std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(decoded.ok()) << kind_name(event.event) << " cut to " << size;
      EXPECT_EQ(decoded.error().kind, ErrorKind::kCorrupt);
    }
    EXPECT_FALSE(decode_event(bytes + "x").ok());
  }
}

TEST(Record, ChangedBytesNeverEndTheProcess) {
  Random random(7);
  const auto events = sample_events();
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    encode(events[random.below(events.size())], bytes);
    for (std::uint64_t i = random.below(4) + 1; i > 0; --i) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    auto decoded = decode_event(bytes);
    if (!decoded.ok()) continue;
    std::string again;
    encode(*decoded, again);
    EXPECT_TRUE(decode_event(again).ok());
  }
}

TEST(Record, AHugeCountIsRefusedWithoutAllocating) {
  std::string bytes;
  ByteWriter ar(bytes);
  ar.varint(kind_of<PlacementEnded>().number);
  ar.varint(1);
  ar.varint(0);
  ar(JobId{1}, AttemptNumber{1}, NodeId{1});
  ar.varint(std::uint64_t{1} << 60);
  auto decoded = decode_event(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.error().message.find("larger than the bytes left"), std::string::npos);
}

TEST(Record, ACoreThatNoNodeCanHaveIsRefused) {
  for (const std::int32_t id : {-1, CoreSet::kEnd, std::numeric_limits<std::int32_t>::max()}) {
    std::string bytes;
    ByteWriter writer(bytes);
    writer(std::vector<std::int32_t>{3, id});
    ByteReader reader(bytes);
    CoreSet cores;
    reader(cores);
    EXPECT_TRUE(reader.failed()) << id;
  }
}

TEST(Record, AnOlderVersionIsUpgraded) {
  std::string bytes;
  ByteWriter writer(bytes);
  write_payload(writer, ProbeV1{"old"});
  ByteReader reader(bytes);
  ProbeV2 upgraded;
  read_payload(reader, 1, upgraded);
  ASSERT_FALSE(reader.failed()) << reader.error();
  EXPECT_EQ(upgraded.name, "old");
  EXPECT_EQ(upgraded.added, 7) << "a field that was not there keeps its default";
}

TEST(Record, ANewerVersionIsRefusedByName) {
  std::string bytes;
  ByteWriter writer(bytes);
  write_payload(writer, ProbeV2{"new", 8});
  ByteReader reader(bytes);
  ProbeV1 payload;
  read_payload(reader, 2, payload);
  EXPECT_TRUE(reader.failed());
  EXPECT_TRUE(reader.newer());
  EXPECT_NE(reader.error().find("Probe has layout 2"), std::string::npos) << reader.error();
}

TEST(Record, ARecordOfANewerProgramSaysSo) {
  std::string bytes;
  encode(Decision{Start{JobId{8}, 2}}, bytes);
  bytes[1] = 9;  // the version
  auto decoded = decode_decision(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, "record_newer");
  EXPECT_NE(decoded.error().message.find("Start has layout 9"), std::string::npos);
  bytes[0] = 120;  // the kind
  EXPECT_EQ(decode_decision(bytes).error().code, "record_newer");
  bytes[0] = 0;
  EXPECT_EQ(decode_decision(bytes).error().code, "record_damaged");
}

TEST(Record, KindNumbersAreDistinct) {
  std::set<std::uint64_t> numbers;
  std::set<std::string_view> names;
  const auto note = [&](const KindInfo& kind) {
    EXPECT_TRUE(numbers.insert(kind.number).second) << kind.name;
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (note(kind_of<std::variant_alternative_t<I, Event::Kinds>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Event::Kinds>>());
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (note(kind_of<std::variant_alternative_t<I, Decision::Kinds>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Decision::Kinds>>());
}

TEST(Record, TheDigestOfDecisionsDependsOnOrderAndContent) {
  auto decisions = sample_decisions();
  const std::uint64_t digest = digest_decisions(decisions);
  EXPECT_EQ(digest, digest_decisions(sample_decisions()));
  std::swap(decisions[0], decisions[1]);
  EXPECT_NE(digest, digest_decisions(decisions));
}

}  // namespace
}  // namespace dove::codec
