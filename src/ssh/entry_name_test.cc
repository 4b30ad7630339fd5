#include "ssh/entry_name.h"

#include <gtest/gtest.h>

#include <csignal>

#include "ssh/strangers.h"

namespace dove::ssh {
namespace {

TEST(EntryName, IsAJobAndATask) {
  EXPECT_EQ(read_entry_name("42")->job, "42");
  EXPECT_EQ(read_entry_name("42")->task, "");
  EXPECT_EQ(read_entry_name("42.3")->task, "3");
  EXPECT_EQ(read_entry_name("42_7.worker/1")->job, "42_7");
  EXPECT_EQ(read_entry_name("42_7.worker/1")->task, "worker/1");
  for (const char* bad :
       {"", "root", ".3", "42.", "42 ", "42.3.4", "42/../1", "42.a b", "_1", "42?x"}) {
    const Result<EntryName> name = read_entry_name(bad);
    ASSERT_FALSE(name.ok()) << bad;
    EXPECT_EQ(name.error().code, "bad_ssh_name");
  }
  EXPECT_FALSE(read_entry_name(std::string(200, '4')).ok());
}

TEST(Variables, OnlyLocalesAreSet) {
  EXPECT_TRUE(may_set("LANG", "C.UTF-8"));
  EXPECT_TRUE(may_set("LC_ALL", "de_DE"));
  for (const char* name : {"LD_PRELOAD", "PATH", "LC_x", "LANGUAGE", "", "TERM"}) {
    EXPECT_FALSE(may_set(name, "C")) << name;
  }
  EXPECT_FALSE(may_set("LANG", "a b"));
  EXPECT_FALSE(may_set("LANG", std::string(300, 'a')));
}

TEST(Signals, AreThoseOfTheStandard) {
  EXPECT_EQ(signal_of("TERM"), SIGTERM);
  EXPECT_EQ(signal_of("STOP"), 0);
  EXPECT_EQ(signal_name(SIGKILL), "KILL");
  EXPECT_EQ(signal_name(SIGSTOP), "");
}

TEST(Strangers, AreFewFromOneAddressAndInAll) {
  Strangers strangers({4, 3, 2});
  EXPECT_TRUE(strangers.come("a"));
  EXPECT_TRUE(strangers.come("a"));
  EXPECT_FALSE(strangers.come("a"));
  EXPECT_TRUE(strangers.come("b"));
  EXPECT_FALSE(strangers.come("c"));
  strangers.signed_in("a");
  EXPECT_TRUE(strangers.come("c"));
  strangers.signed_in("b");
  EXPECT_FALSE(strangers.come("d"));  // four are there
  strangers.gone("b", true);
  EXPECT_TRUE(strangers.come("d"));
  strangers.gone("a", false);
  EXPECT_EQ(strangers.all(), 3U);
}

}  // namespace
}  // namespace dove::ssh
