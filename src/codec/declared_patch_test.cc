#include "codec/declared_patch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/record_samples.h"
#include "model/new_cluster.h"

namespace dove::codec {
namespace {

using Json = nlohmann::json;

template <class T>
T applied(const T& before, const std::string& patch) {
  const auto got = read_declared(patched(Declared(before), *parse_json(patch, 1 << 16)));
  EXPECT_TRUE(got.ok()) << got.error().field << ": " << got.error().message;
  return got.ok() ? std::get<T>(*got) : T{};
}

TEST(DeclaredPatch, AnEmptyOneChangesNothing) {
  for (const Declared& object : sample_objects()) {
    const auto same = read_declared(patched(object, Json::object()));
    ASSERT_TRUE(same.ok()) << same.error().message;
    EXPECT_EQ(*same, object);
    EXPECT_EQ(version_of(*same), version_of(object));
  }
}

TEST(DeclaredPatch, AFieldTakesThePlaceOfItsAliases) {
  ClusterSettings before;
  before.fence = milliseconds(2500);  // written as fence_us
  before.array_max = 7;
  const ClusterSettings after = applied(before, R"({"fence": "9s"})");
  EXPECT_EQ(after.fence, seconds(9));
  EXPECT_EQ(after.array_max, 7);
  NodeDeclaration node;
  node.name = "n1";
  node.memory_reserved_bytes = 5;
  EXPECT_EQ(applied(node, R"({"memory_reserved": "1Gi"})").memory_reserved_bytes,
            std::int64_t{1} << 30);
  const auto twice = read_declared(patched(Declared(before), {{"fence", "9s"}, {"fence_s", 9}}));
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, "given_twice");
}

TEST(DeclaredPatch, NullIsTheDefault) {
  ClusterSettings before;
  before.array_max = 7;
  before.hang_after = seconds(1);
  const ClusterSettings after = applied(before, R"({"array_max": null, "hang_after": null})");
  EXPECT_EQ(after, ClusterSettings{});
  EXPECT_EQ(applied(before, R"({"order": null})").order, new_cluster_settings().order);
  EXPECT_EQ(applied(before, R"({"order": null})").placement, before.placement);
  const auto unknown = read_declared(patched(Declared(before), {{"array_mx", nullptr}}));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "unknown_field");
}

TEST(DeclaredPatch, OneWordSetsOrderAndPlacement) {
  ClusterSettings before;
  before.order = "fair_share";
  before.placement = "fgd";
  before.array_max = 7;
  ClusterSettings plain;
  plain.array_max = 7;
  EXPECT_EQ(applied(before, R"({"scheduling": "plain"})"), plain);
  ClusterSettings learned = new_cluster_settings();
  learned.array_max = 7;
  EXPECT_EQ(applied(before, R"({"scheduling": "learned"})"), learned);
  EXPECT_EQ(applied(before, R"({"scheduling": null})").order, learned.order);
  const auto code = [&](const char* patch) {
    const auto got = read_declared(patched(Declared(before), *parse_json(patch, 4096)));
    return got.ok() ? std::string() : got.error().code;
  };
  EXPECT_EQ(code(R"({"scheduling": "plain", "order": "drf"})"), "given_twice");
  EXPECT_EQ(code(R"({"scheduling": "fast"})"), "unknown_scheduling");
}

TEST(DeclaredPatch, LimitsAreFieldsAndMapsAreWhole) {
  Queue before;
  before.name = "q";
  before.limits.gpus_milli = 4000;
  before.limits.jobs_running = 3;
  before.limits.countables = {{"licence", 2}, {"slice:1g.18gb", 1}};
  before.limits.gpus_by_model = {{"h200", 4000}};
  const Queue after = applied(before, R"({"limits": {"gpus": 2, "jobs_running": null,
      "countables": {"rdma": 1}, "gpus_by_model": {"A100": 1}}})");
  EXPECT_EQ(after.limits.gpus_milli, 2000);
  EXPECT_EQ(after.limits.jobs_running, -1);
  EXPECT_EQ(after.limits.countables, (std::vector<Countable>{{"rdma", 1}, {"slice:1g.18gb", 1}}));
  EXPECT_EQ(after.limits.gpus_by_model, (std::vector<Countable>{{"a100", 1000}}));
  const Queue sliced =
      applied(before, R"({"limits": {"countables": {"nvidia.com/mig-1g.18gb": 5}}})");
  EXPECT_EQ(sliced.limits.countables, (std::vector<Countable>{{"slice:1g.18gb", 5}}));
  EXPECT_EQ(applied(before, R"({"limits": null})").limits, Limits{});
}

TEST(DeclaredPatch, WeightsAreFieldsWithinBounds) {
  ClusterSettings before;
  before.multifactor.size = 7;
  const auto got = read_declared(
      patched(Declared(before), {{"multifactor", {{"age", 1000}, {"age_span", "14d"}}}}));
  ASSERT_TRUE(got.ok()) << got.error().message;
  MultifactorWeights weights = before.multifactor;
  weights.age = 1000;
  weights.age_span = seconds(14 * 86400);
  EXPECT_EQ(std::get<ClusterSettings>(*got).multifactor, weights);
  const auto fast = read_declared(
      patched(Declared(before), {{"multifactor", {{"age", 1001}, {"age_span_s", 60}}}}));
  ASSERT_FALSE(fast.ok());
  EXPECT_NE(fast.error().message.find("1000 points"), std::string::npos) << fast.error().message;
}

TEST(DeclaredPatch, AVersionIsOfTheWholeObject) {
  UserDeclaration user;
  user.name = "ada";
  const std::string first = version_of(Declared(user));
  user.token_sha256 = std::string(64, 'a');
  EXPECT_NE(version_of(Declared(user)), first);
}

}  // namespace
}  // namespace dove::codec
