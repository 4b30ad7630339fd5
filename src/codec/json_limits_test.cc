// Limits and guarantees as people write them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"

namespace dove::codec {
namespace {

Result<Declared> read(const std::string& body) { return read_declared(*parse_json(body, 1 << 20)); }

Queue queue(const std::string& fields) {
  const auto got = read(R"({"kind": "Queue", "name": "q", )" + fields + "}");
  EXPECT_TRUE(got.ok()) << got.error().message;
  return got.ok() ? std::get<Queue>(*got) : Queue{};
}

TEST(JsonLimits, AreReadAsKubernetesWritesThem) {
  const Limits limits = queue(R"("limits": {"cores": "1500m", "gpus": "2500m", "memory": "1280Gi",
      "countables": {"rdma/hca": 100, "nvidia.com/mig-1g.6gb": 2}})")
                            .limits;
  EXPECT_EQ(limits.cores, 2);
  EXPECT_EQ(limits.gpus_milli, 2500);
  EXPECT_EQ(limits.memory_bytes, std::int64_t{1280} << 30);
  const std::vector<Countable> both = {{"rdma/hca", 100}, {"slice:1g.6gb", 2}};
  EXPECT_EQ(limits.countables, both);
}

TEST(JsonLimits, NameModelsInAnyCaseAndSlicesByProfile) {
  const Queue made = queue(R"("limits": {"gpus_by_model": {"H200": 4, "A100": "500m"},
      "slices": {"1g.18gb": 2}}, "guaranteed": {"gpus_by_model": {"H200": 2}})");
  const std::vector<Countable> models = {{"a100", 500}, {"h200", 4000}};
  EXPECT_EQ(made.limits.gpus_by_model, models);
  EXPECT_EQ(made.limits.countables, (std::vector<Countable>{{"slice:1g.18gb", 2}}));
  EXPECT_EQ(made.guaranteed.gpus_by_model, (std::vector<Countable>{{"h200", 2000}}));
  const auto again = read_declared(declared_json(made));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(std::get<Queue>(*again), made);
}

TEST(JsonLimits, OfNothingAreLimits) {
  const Queue made = queue(R"("limits": {"gpus_by_model": {"H200": 0}, "slices": {"1g.18gb": 0},
      "countables": {"licence": 0}}, "guaranteed": {"countables": {"licence": 0}})");
  EXPECT_EQ(made.limits.gpus_by_model, (std::vector<Countable>{{"h200", 0}}));
  EXPECT_EQ(made.limits.countables, (std::vector<Countable>{{"licence", 0}, {"slice:1g.18gb", 0}}));
  EXPECT_TRUE(made.guaranteed.countables.empty());
}

TEST(JsonLimits, AreRefusedWithTheirPlace) {
  const struct {
    const char* limits;
    const char* code;
    const char* field;
  } kWrong[] = {
      {R"({"gpus_by_model": {"H200": -1}})", "out_of_range", "limits.gpus_by_model.H200"},
      {R"({"gpus_by_model": {"H200": 1, "h200": 2}})", "given_twice", "limits.gpus_by_model"},
      {R"({"gpus_by_model": {"H200": 1}, "gpus_milli_by_model": {"h200": 1}})", "given_twice",
       "limits.gpus_by_model"},
      {R"({"gpus_by_model": 4})", "wrong_type", "limits.gpus_by_model"},
      {R"({"slices": {"tiny": 1}})", "bad_value", "limits.slices"},
      {R"({"slices": {"1g.6gb": 1}, "countables": {"nvidia.com/mig-1g.6gb": 1}})", "given_twice",
       "limits.slices"},
      {R"({"gpus": "half"})", "bad_value", "limits.gpus"},
      {R"({"gpus": 1, "gpus_milli": 1})", "given_twice", "limits.gpus"},
  };
  for (const auto& wrong : kWrong) {
    const auto got =
        read(std::string(R"({"kind": "Queue", "name": "q", "limits": )") + wrong.limits + "}");
    ASSERT_FALSE(got.ok()) << wrong.limits;
    EXPECT_EQ(got.error().code, wrong.code) << wrong.limits << got.error().message;
    EXPECT_EQ(got.error().field, wrong.field) << wrong.limits << got.error().message;
  }
}

TEST(JsonLimits, AQueueMayHaveAnotherWeightInOneResource) {
  const Queue weighed = queue(R"("weight": 3, "weights": {"gpus": 6})");
  EXPECT_EQ(weighed.weights, (QueueWeights{0, 6, 0}));
  EXPECT_EQ(declared_json(weighed).at("weights"), nlohmann::json({{"gpus", 6}}));
  const auto wrong = read(R"({"kind": "Queue", "name": "q", "weights": {"gpu": 6}})");
  EXPECT_EQ(wrong.error().field, "weights.gpu");
  EXPECT_FALSE(read(R"({"kind": "Queue", "name": "q", "weights": {"cores": 0}})").ok());
}

}  // namespace
}  // namespace dove::codec
