#include "core/state/executors/linux_user.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

class LinuxUserTest : public testing::Test {
 protected:
  std::string of(RunAs run_as) const { return linux_user_of(state, "ann", run_as); }
  UserDeclaration& declared() { return state.users["ann"]; }

  State state;
};

TEST_F(LinuxUserTest, SomebodyWhoIsNotDeclaredIsTheOneOfThatName) {
  EXPECT_EQ(of(RunAs::kSubmitter), "ann");
  EXPECT_EQ(of(RunAs::kNode), "");
}

TEST_F(LinuxUserTest, WhoIsDeclaredIsWhomTheDeclarationNames) {
  declared();
  EXPECT_EQ(of(RunAs::kSubmitter), "ann");
  EXPECT_EQ(of(RunAs::kNode), "");
  declared().linux_user = "a1234";
  EXPECT_EQ(of(RunAs::kSubmitter), "a1234");
  EXPECT_EQ(of(RunAs::kNode), "a1234");
}

TEST_F(LinuxUserTest, AServiceAccountIsNobodyByItsNameAlone) {
  declared().service_of = "vision";
  EXPECT_EQ(of(RunAs::kSubmitter), "");
  declared().linux_user = "svc";
  EXPECT_EQ(of(RunAs::kSubmitter), "svc");
}

TEST_F(LinuxUserTest, NorIsAnAccountOfADomain) {
  declared().domain = "corp";
  EXPECT_EQ(of(RunAs::kSubmitter), "");
}

TEST_F(LinuxUserTest, NorIsOneOfASignInService) {
  declared().identity = "https://id.example 42";
  EXPECT_EQ(of(RunAs::kSubmitter), "");
}

}  // namespace
}  // namespace dove::core
