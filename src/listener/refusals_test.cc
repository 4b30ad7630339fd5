#include "listener/refusals.h"

#include <gtest/gtest.h>

#include <vector>

namespace dove::listener {
namespace {

class RefusalsTest : public testing::Test {
 protected:
  void refuse(const std::string& who, const std::string& address, const char* code,
              ErrorKind kind = ErrorKind::kDenied) {
    accounts::Caller caller;
    caller.user = who;
    refusals.note(caller, address, "drainNode", Error{kind, code, "", ""});
  }

  wire::Loop loop;
  std::vector<CallsRefused> written;
  Refusals refusals{loop,
                    [this](Event event) { written.push_back(std::get<CallsRefused>(event)); }};
};

TEST_F(RefusalsTest, EqualOnesAreCountedTogether) {
  refuse("ada", "10.0.0.7", "admin_only");
  refuse("ada", "10.0.0.7", "admin_only");
  refuse("bob", "10.0.0.7", "admin_only");
  EXPECT_TRUE(written.empty());
  refusals.flush();
  EXPECT_EQ(written,
            (std::vector<CallsRefused>{{"ada", "10.0.0.7", "drainNode", "admin_only", 2},
                                       {"bob", "10.0.0.7", "drainNode", "admin_only", 1}}));
  refusals.flush();
  EXPECT_EQ(written.size(), 2U);
}

TEST_F(RefusalsTest, OtherErrorsAreNoRefusals) {
  refuse("ada", "10.0.0.7", "no_such_job", ErrorKind::kNotFound);
  refuse("", "10.0.0.7", "token_missing", ErrorKind::kUnauthenticated);
  refusals.flush();
  EXPECT_TRUE(written.empty());
}

// Whoever knocks from everywhere must not fill the log.
TEST_F(RefusalsTest, WhatIsTooDifferentIsCountedByItsCode) {
  for (int i = 0; i < 1000; ++i) {
    refuse("", "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250), "token_invalid",
           ErrorKind::kUnauthenticated);
  }
  refusals.flush();
  ASSERT_EQ(written.size(), 101U);
  EXPECT_EQ(written.front(), (CallsRefused{"", "", "", "token_invalid", 900}));
}

}  // namespace
}  // namespace dove::listener
