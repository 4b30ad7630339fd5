#include "slurm/gate/gate_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "slurm/gate/gate_control.h"

namespace dove::slurm {
namespace {

constexpr uid_t kSlurm = 64030;

class GateFolderTest : public testing::Test {
 protected:
  GateFolderTest() {
    std::string name = testing::TempDir() + "/dove-gate-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~GateFolderTest() override { std::filesystem::remove_all(folder); }
  bool opens(uid_t slurm_user = kSlurm) const {
    return GateFolder::open(folder, [&] { return Result<uid_t>(slurm_user); }).ok();
  }
  std::string folder;
};

TEST_F(GateFolderTest, NobodyElseMayWriteInIt) {
  EXPECT_TRUE(opens());
  ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
  EXPECT_FALSE(opens());
}

TEST_F(GateFolderTest, ItIsRootsOrSlurmUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown(folder.c_str(), kSlurm, kSlurm), 0);
  EXPECT_TRUE(opens());
  EXPECT_FALSE(opens(kSlurm + 1));
}

TEST(SlurmUser, IsReadFromSlurmsAnswer) {
  CommandEnd end;
  const auto user = [&] {
    return slurm_user([&](const CommandWanted&) { return Result<CommandEnd>(end); });
  };
  end.output = "SlurmdUser = root(0)\nSlurmUser               = slurm(64030)\nSlurmctldDebug = 3\n";
  ASSERT_TRUE(user().ok());
  EXPECT_EQ(*user(), kSlurm);
  end.output = "SlurmUser = slurm\n";
  EXPECT_FALSE(user().ok());
  end.code = 1;
  EXPECT_EQ(user().error().code, "slurm_command");
}

}  // namespace
}  // namespace dove::slurm
