#include "agent/session/contact.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "files/text_file.h"

namespace dove::agent {
namespace {

class ContactTest : public testing::Test {
 protected:
  ContactTest() {
    std::string pattern = testing::TempDir() + "contact.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/contact";
    Contact contact = open();
    contact.agreed(5'000'000, 300'000'000, 86'400'000'000);
    contact.heard(1'234'567);
    contact.saw(3, 77, "proof-77");
    contact.lives_in("boot-1");
    contact.note(kClocks);
    whole_ = files::text_or_empty(path_, 4096);
  }
  ~ContactTest() override { std::filesystem::remove_all(folder_); }

  Contact open() const { return Contact::open(path_, std::chrono::seconds(0)).value(); }
  void expect_nothing_known(const std::string& text, std::size_t at) const {
    std::ofstream(path_, std::ios::binary) << text;
    const Contact contact = open();
    EXPECT_EQ(contact.heard_at_us(), 0) << at;
    EXPECT_EQ(contact.fence_us(), 0) << at;
    EXPECT_EQ(contact.log_head(), 0u) << at;
    EXPECT_EQ(contact.proof(), "") << at;
    EXPECT_EQ(contact.boot_id(), "") << at;
  }

  static constexpr Contact::Clocks kClocks{1'000'000'000, 7'000'000, 1'300'000};
  // What a version that knew no clocks wrote: their four numbers and a digest are missing.
  std::string without_clocks() const { return whole_.substr(0, whole_.size() - 40); }

  std::string folder_;
  std::string path_;
  std::string whole_;
};

TEST_F(ContactTest, TheClocksAreThoseOfThisBoot) {
  Contact contact = open();
  EXPECT_EQ(contact.clocks(), kClocks);
  contact.begin_boot("boot-1");
  EXPECT_EQ(contact.clocks(), kClocks);
  contact.begin_boot("boot-2");
  EXPECT_EQ(contact.clocks(), std::nullopt);
}

// Its agent writes over the beginning, and leaves the clocks as they were.
TEST_F(ContactTest, WhatAFormerVersionWroteKnowsNoClocks) {
  std::ofstream(path_, std::ios::binary) << without_clocks();
  EXPECT_EQ(open().boot_id(), "boot-1");
  EXPECT_EQ(open().clocks(), std::nullopt);
}

TEST_F(ContactTest, ABitThatFlippedIsNotBelieved) {
  ASSERT_EQ(open().log_head(), 77u);
  for (std::size_t bit = 0; bit < whole_.size() * 8; ++bit) {
    std::string text = whole_;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    expect_nothing_known(text, bit);
  }
}

// Behind what this version knows; after an update that was taken back its agent goes on.
TEST_F(ContactTest, WhatALaterVersionAppendsIsPassedOver) {
  std::ofstream(path_, std::ios::binary) << whole_ << "more";
  Contact contact = open();
  EXPECT_EQ(contact.log_head(), 77u);
  EXPECT_EQ(contact.boot_id(), "boot-1");
  contact.saw(3, 78, "proof-78");
  EXPECT_TRUE(files::text_or_empty(path_, 4096).ends_with("more"));
}

// Also where what is left is as long as what a former version wrote.
TEST_F(ContactTest, WhatWasCutOffIsNotBelieved) {
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    if (size == without_clocks().size()) continue;  // a former version wrote as much
    expect_nothing_known(whole_.substr(0, size), size);
  }
}

// The controller may take the sync, and then counts on silence; or not, and then waits no longer
// than it said.
TEST_F(ContactTest, ASyncThatMayBeTakenHasTheGraceOfSilenceWithinThatOfTheOutage) {
  Contact contact = open();
  contact.outage(1'000'000'000);
  contact.may_be_heard(2'000'000'000, 0);
  EXPECT_EQ(contact.heard_at_us(), 2'000'000'000);
  EXPECT_FALSE(contact.knows_outage());
  contact.outage(1'000'000'000);  // until 87'400'000'000
  contact.may_be_heard(87'399'000'000, 0);
  EXPECT_EQ(contact.heard_at_us() + contact.disconnect_grace_us(), 87'400'000'000);
  contact.may_be_heard(87'399'500'000, 0);
  EXPECT_EQ(contact.heard_at_us(), 87'100'000'000) << "there was no outage";
  contact.outage(1'000'000'000);
  contact.may_be_heard(2'000'000'000, 86'399'000'000);
  EXPECT_EQ(contact.heard_at_us() + contact.disconnect_grace_us(), 1'001'000'000)
      << "the machine was away for almost all of it";
}

}  // namespace
}  // namespace dove::agent
