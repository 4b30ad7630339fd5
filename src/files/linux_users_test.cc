#include "files/linux_users.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "files/descriptor.h"

namespace dove::files {
namespace {

namespace fs = std::filesystem;
using Answer = LinuxLookUp::Answer;

class LinuxUsersTest : public ::testing::Test {
 protected:
  LinuxUsersTest() {
    std::string pattern = ::testing::TempDir() + "m.XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    for (const char* folder : {"/etc/sssd/conf.d", "/var/lib/sss/pipes", "/var/run/nslcd"}) {
      fs::create_directories(root_ + folder);
    }
  }
  ~LinuxUsersTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ + path) << text;
  }
  // Nobody has to accept: what is taken waits.
  [[nodiscard]] Descriptor serve(const std::string& path) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string full = root_ + path;
    CHECK(full.size() < sizeof address.sun_path, "the folder of tests has a short name");
    std::memcpy(address.sun_path, full.c_str(), full.size() + 1);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }

  std::string root_;
};

TEST_F(LinuxUsersTest, AServiceIsMissedWhileItTakesNoConnections) {
  write("/etc/nsswitch.conf", "hosts: dns ldap\npasswd:  files [!NOTFOUND=return] sss # ldap\n");
  write("/etc/nslcd.conf", "");
  EXPECT_EQ(absent_service(root_), "") << "sss is named for everybody, and not set up here";
  write("/etc/sssd/conf.d/ours.conf", "");
  EXPECT_EQ(absent_service(root_), "sssd");
  {
    const Descriptor served = serve("/var/lib/sss/pipes/nss");
    EXPECT_EQ(absent_service(root_), "");
  }
  EXPECT_EQ(absent_service(root_), "sssd") << "its socket is still there, and nobody listens";
}

TEST_F(LinuxUsersTest, AnyThatIsNamedCounts) {
  write("/etc/nsswitch.conf", "passwd: files ldap sss\n");
  write("/etc/sssd/sssd.conf", "");
  write("/etc/nslcd.conf", "");
  const Descriptor sssd = serve("/var/lib/sss/pipes/nss");
  EXPECT_EQ(absent_service(root_), "nslcd");
  const Descriptor nslcd = serve("/var/run/nslcd/socket");
  EXPECT_EQ(absent_service(root_), "");
}

TEST(LookUpTest, FindsWhoIsThere) {
  const LinuxLookUp root = look_up("root");
  EXPECT_EQ(root.answer, Answer::kFound);
  EXPECT_EQ(root.entry.uid, 0u);
  const LinuxLookUp own = look_up("");
  EXPECT_EQ(own.answer, Answer::kFound);
  EXPECT_EQ(own.entry.uid, ::geteuid());
  EXPECT_EQ(look_up("no-such-user-here").answer, Answer::kNobody);
}

}  // namespace
}  // namespace dove::files
