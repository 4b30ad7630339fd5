#include <gtest/gtest.h>

#include "core/step.h"

namespace dove::core {
namespace {

// Promises and reservations are not kept yet: who asks for one is told so.
TEST(Admit, WhatHasNoEffectIsSaid) {
  State state;
  JobSpec spec;
  spec.groups.resize(1);
  const auto plain = admit(state, spec);
  ASSERT_TRUE(plain.ok());
  spec.deadline = Instant{1};
  spec.reservation = "r";
  const auto warned = admit(state, spec);
  ASSERT_TRUE(warned.ok());
  ASSERT_EQ(warned->size(), plain->size() + 2);
  EXPECT_EQ((*warned)[plain->size()], "deadline has no effect yet");
  EXPECT_EQ(warned->back(), "reservation has no effect yet");

  Reservation reservation;
  reservation.name = "r";
  EXPECT_EQ(admit(state, Policies{}, ObjectApplied{reservation}).error().code, "no_reservations");
  Queue queue;
  queue.name = "q";
  EXPECT_TRUE(admit(state, Policies{}, ObjectApplied{queue}).ok());
  queue.promises = 7;
  EXPECT_EQ(admit(state, Policies{}, ObjectApplied{queue}).error().field, "promises");
}

}  // namespace
}  // namespace dove::core
