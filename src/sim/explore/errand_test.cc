#include "sim/explore/errand.h"

#include <gtest/gtest.h>

#include <string>

namespace dove::sim {
namespace {

wire::Request question_of(const std::string& target) {
  wire::Request request;
  request.target = target;
  return request;
}

TEST(Errand, RunsUntilItAsksAndGoesOnWithItsAnswer) {
  std::string did;
  Errand errand;
  ASSERT_TRUE(errand.begin([&] {
    did += "a";
    const Errand::Answer first = errand.ask(question_of("/first"));
    did += std::to_string(first->status);
    const Errand::Answer second = errand.ask(question_of("/second"));
    did += second.error().code;
  }));
  EXPECT_EQ(errand.question().target, "/first");
  EXPECT_EQ(did, "a") << "it waits";
  wire::Response answer;
  answer.status = 200;
  ASSERT_TRUE(errand.answer(answer));
  EXPECT_EQ(errand.question().target, "/second");
  EXPECT_FALSE(errand.answer(Error{ErrorKind::kUnavailable, "lost", "", ""}));
  EXPECT_EQ(did, "a200lost");
}

TEST(Errand, ThatAsksNothingIsOverAtOnce) {
  bool done = false;
  Errand errand;
  EXPECT_FALSE(errand.begin([&] { done = true; }));
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace dove::sim
