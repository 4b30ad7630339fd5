#include "cli/slurm/time_words.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/slurm/columns.h"

namespace dove::cli {
namespace {

constexpr std::int64_t kNow_us = 1'795'357'374'000'000;  // 2026-11-22T14:22:54 UTC

std::int64_t seconds_from_now(const std::string& text) {
  setenv("TZ", "UTC", 1);
  tzset();
  const Result<std::int64_t> at_us = parse_slurm_time(text, kNow_us);
  return at_us.ok() ? (*at_us - kNow_us) / 1'000'000 : 1;
}

TEST(TimeWords, AsSlurmReadsThem) {
  EXPECT_EQ(seconds_from_now("now"), 0);
  EXPECT_EQ(seconds_from_now("now-2days"), -2 * 86400);
  EXPECT_EQ(seconds_from_now("now-90"), -90);
  EXPECT_EQ(seconds_from_now("now+1hour"), 3600);
  EXPECT_EQ(seconds_from_now("uts1795357370"), -4);
  const std::int64_t since_midnight = -(14 * 3600 + 22 * 60 + 54);
  EXPECT_EQ(seconds_from_now("today"), since_midnight);
  EXPECT_EQ(seconds_from_now("midnight"), since_midnight);
  EXPECT_EQ(seconds_from_now("noon"), since_midnight + 12 * 3600);
  EXPECT_EQ(seconds_from_now("yesterday"), since_midnight - 86400);
  EXPECT_EQ(seconds_from_now("2026-11-22"), since_midnight);
  EXPECT_EQ(seconds_from_now("2026-11-22T14:22"), -54);
  EXPECT_EQ(seconds_from_now("2026-11-20T14:22:54"), -2 * 86400);
  EXPECT_EQ(seconds_from_now("11/22"), since_midnight);
  EXPECT_EQ(seconds_from_now("11/22/26-14:22:54"), 0);
  EXPECT_EQ(seconds_from_now("112226"), since_midnight);
  EXPECT_EQ(seconds_from_now("1122"), since_midnight);
  EXPECT_EQ(seconds_from_now("2:22 PM"), -54);
  EXPECT_EQ(seconds_from_now("12:00 am"), since_midnight);
}

TEST(TimeWords, WhatIsNoTimeIsNamed) {
  for (const char* wrong : {"", "soon", "now-", "now-2moons", "2026-13-01", "2026-11-22X", "25:00",
                            "8:5", "11/32", "uts", "now-9999999999999"}) {
    EXPECT_FALSE(parse_slurm_time(wrong, kNow_us).ok()) << wrong;
  }
}

TEST(Columns, NamesBeginningsAndWidths) {
  const std::vector<SlurmColumn> known = {
      {"JobID", 12, true}, {"JobIDRaw", 12, true}, {"State", 10}};
  const auto columns = parse_columns("jobid,STA%4,JobIDR%-3", known);
  ASSERT_TRUE(columns.ok());
  ASSERT_EQ(columns->size(), 3u);
  EXPECT_EQ((*columns)[0].name, "JobID");
  EXPECT_EQ((*columns)[1].width, 4);
  EXPECT_FALSE((*columns)[1].left);
  EXPECT_EQ((*columns)[2].name, "JobIDRaw");
  EXPECT_TRUE((*columns)[2].left);
  const auto value = [](const std::string& name) { return name == "State" ? "RUNNING" : "7"; };
  EXPECT_EQ(row_text({}, *columns, value), "7            RUN+ 7   \n");
  EXPECT_EQ(row_text({SlurmListing::Kind::kBars, true, ";"}, *columns, value), "7;RUNNING;7\n");
  EXPECT_EQ(row_text({SlurmListing::Kind::kEndedBars, true, "|"}, *columns, value),
            "7|RUNNING|7|\n");
  for (const char* wrong : {"nosuch", "State%", "State%x", "State%0", "State%99999"}) {
    EXPECT_FALSE(parse_columns(wrong, known).ok()) << wrong;
  }
}

}  // namespace
}  // namespace dove::cli
