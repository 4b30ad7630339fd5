#include "slurm/works/users_away.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

using Answer = files::LinuxLookUp::Answer;

TEST(UsersAwayTest, WhatIsToBeginWaitsForTheDirectoryOfUsersAndNotForEver) {
  Answer answer = Answer::kUnsure;
  UsersAway away([&answer](const std::string&) {
    return files::LinuxLookUp{answer, {}, "sssd does not run"};
  });
  const PlaceholderKey key{7, 1, "n1"};
  EXPECT_TRUE(away.waits(key, "ann", 1'000));
  EXPECT_TRUE(away.waits(key, "ann", 1'119));
  EXPECT_FALSE(away.waits(key, "ann", 1'120)) << "it is tried, and says why it cannot begin";
  answer = Answer::kFound;
  EXPECT_FALSE(away.waits(key, "ann", 1'121));
  answer = Answer::kUnsure;
  EXPECT_TRUE(away.waits(key, "ann", 1'122)) << "it is away anew";
  answer = Answer::kNobody;
  EXPECT_FALSE(away.waits({8, 1, "n1"}, "bob", 1'122)) << "whoever is nobody is refused at once";
}

}  // namespace
}  // namespace dove::slurm
