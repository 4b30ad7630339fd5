// Every field of a noun of the state that is stored has to be in its fields(): this counts them.
//
// When one of these fails, a field came to the state: write it in snapshot.cc and hash.cc (what is
// left out would be lost at the next restart), then raise the number here.
#include <gtest/gtest.h>

#include "codec/field_count.h"
#include "core/state/state.h"

namespace dove::codec {
namespace {

TEST(FieldCount, OfTheState) {
  EXPECT_EQ(field_count<core::OpenFinding>(), 2u);
  EXPECT_EQ(field_count<core::LinkVote>(), 3u);
  EXPECT_EQ(field_count<core::PlacementRecord>(), 10u);
  EXPECT_EQ(field_count<core::Attempt>(), 13u);
  EXPECT_EQ(field_count<core::Job>(), 29u);
  EXPECT_EQ(field_count<core::Node>(), 33u);
  EXPECT_EQ(field_count<core::NodeExecutor>(), 8u);  // knows_to_come follows from the level
  EXPECT_EQ(field_count<core::PlaceholderKey>(), 4u);
  EXPECT_EQ(field_count<core::Placeholder>(), 4u);
  EXPECT_EQ(field_count<core::ExecutorStanding>(), 6u);
  EXPECT_EQ(field_count<core::Unwatched>(), 4u);
  EXPECT_EQ(field_count<core::JoinToken>(), 2u);
  EXPECT_EQ(field_count<core::ArmedBoot>(), 3u);
  EXPECT_EQ(field_count<core::Agreed>(), 3u);
  EXPECT_EQ(field_count<core::Usage>(), 7u);
  EXPECT_EQ(field_count<core::PromiseRecord>(), 4u);
  EXPECT_EQ(field_count<core::PastUse>(), 2u);
  EXPECT_EQ(field_count<core::Hang>(), 8u);
  EXPECT_EQ(field_count<core::IdleNotice>(), 6u);
  EXPECT_EQ(field_count<core::ForgottenKey>(), 4u);
  EXPECT_EQ(field_count<core::ForgottenUse>(), 3u);
  EXPECT_EQ(field_count<core::Forgotten>(), 3u);
}

}  // namespace
}  // namespace dove::codec
