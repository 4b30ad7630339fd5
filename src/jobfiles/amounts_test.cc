#include "jobfiles/amounts.h"

#include <gtest/gtest.h>

#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

TEST(TimeLimit, EveryFormOfSbatch) {
  struct Case {
    const char* text;
    std::int64_t seconds;
  };
  for (const Case& c : {Case{"90", 5400}, Case{"5:30", 330}, Case{"1:02:03", 3723},
                        Case{"2-12", 216000}, Case{"2-12:30", 217800}, Case{"1-00:00:05", 86405},
                        Case{"0", 0}, Case{"-1", 0}, Case{"INFINITE", 0}, Case{"unlimited", 0}}) {
    auto limit = parse_time_limit(c.text);
    ASSERT_TRUE(limit.ok()) << c.text;
    EXPECT_EQ(limit->us, seconds(c.seconds).us) << c.text;
  }
}

TEST(TimeLimit, RefusesTheRest) {
  for (const char* text : {"", "x", "1:2:3:4", "-5", "-", "1.5", "1-2:3:4:5", " 5", "5 ", "1h",
                           "99999999999999999999", "9999999-0", "::"}) {
    EXPECT_FALSE(parse_time_limit(text).ok()) << text;
  }
}

TEST(Memory, UnitsArePowersOf1024AndMegabytesTheDefault) {
  EXPECT_EQ(*parse_memory("512"), 512LL << 20);
  EXPECT_EQ(*parse_memory("512M"), 512LL << 20);
  EXPECT_EQ(*parse_memory("4G"), 4LL << 30);
  EXPECT_EQ(*parse_memory("4gb"), 4LL << 30);
  EXPECT_EQ(*parse_memory("100K"), 100LL << 10);
  EXPECT_EQ(*parse_memory("1T"), 1LL << 40);
  EXPECT_EQ(*parse_memory("0"), 0);
  for (const char* text : {"", "G", "-1", "4Q", "4 G", "9999999T", "1e3", "18446744073709551616"}) {
    EXPECT_FALSE(parse_memory(text).ok()) << text;
  }
}

TEST(Gres, GpusSharesAndCountables) {
  EXPECT_EQ(parse_gres("gpu")->gpus, 1);
  EXPECT_EQ(parse_gres("gpu:4")->gpus, 4);
  auto typed = parse_gres("gpu:a100:2,rdma:1");
  ASSERT_TRUE(typed.ok());
  EXPECT_EQ(typed->gpus, 2);
  EXPECT_EQ(typed->gpu_model, "a100");
  EXPECT_EQ(typed->countables, (std::vector<Countable>{{"rdma", 1}}));
  EXPECT_EQ(parse_gres("gpu:h100")->gpu_model, "h100");
  EXPECT_EQ(parse_gres("mps:25")->share_milli, 250);
  EXPECT_EQ(parse_gres("gres:gpu:2")->gpus, 2);
  EXPECT_EQ(*parse_gres("none"), Request());
  auto two = parse_gres("b:2,a:1,b:3");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->countables, (std::vector<Countable>{{"a", 1}, {"b", 5}}));
}

TEST(Gres, HugePagesBySlurmsUnitsOrByKubernetes) {
  for (const char* text : {"hugepages-2Mi:1G", "hugepages-2Mi:1Gi", "gres:HugePages-2mi:1024M",
                           "hugepages-2Mi:512M,hugepages-2Mi:512Mi"}) {
    const auto request = parse_gres(text);
    ASSERT_TRUE(request.ok()) << text << ": " << request.error().message;
    EXPECT_EQ(request->countables,
              (std::vector<Countable>{{"hugepages-2Mi", std::int64_t{1} << 30}}))
        << text;
  }
  EXPECT_FALSE(parse_gres("hugepages-2MB:1G").ok());
  EXPECT_FALSE(parse_gres("hugepages-2Mi:much").ok());
}

TEST(Gres, SlicesByTheirNamesInSlurmAndKubernetes) {
  for (const char* text : {"gpu:1g.10gb:2", "gpu:mig-1g.10gb:2", "mig-1g.10gb:2",
                           "nvidia.com/mig-1g.10gb:2", "gres:gpu:1G.10GB:2"}) {
    const auto request = parse_gres(text);
    ASSERT_TRUE(request.ok()) << text << ": " << request.error().message;
    EXPECT_EQ(request->slice, "1g.10gb") << text;
    EXPECT_EQ(request->slices, 2) << text;
    EXPECT_EQ(request->gpus, 0) << text;
    EXPECT_EQ(request->gpu_model, "") << text;
    EXPECT_TRUE(request->countables.empty()) << text;
  }
  EXPECT_EQ(parse_gres("gpu:3g.20gb")->slices, 1);
  EXPECT_EQ(parse_gres("gpu:a100_3g.20gb:1")->gpu_model, "a100");
  EXPECT_FALSE(parse_gres("gpu:1g.10gb:1,gpu:2g.20gb:1").ok());
  EXPECT_FALSE(parse_gres("gpu:1g.10gb:1,gpu:2").ok());
  EXPECT_FALSE(parse_gres("gpu:1g.10gb:1,mps:50").ok());
  EXPECT_NE(parse_gpus("1g.10gb:2").error().message.find("--gres=gpu:1g.10gb"), std::string::npos);
}

TEST(Gres, RefusesTheRest) {
  for (const char* text :
       {",", "gpu:", "gpu:a100:", "gpu:a:b:1", "gpu:-1", "gpu:9999999", "mps:100", "mps:0",
        "gpu:1,mps:5", "gpu:a100:1,gpu:h100:1", "../x:1", "a b:1"}) {
    EXPECT_FALSE(parse_gres(text).ok()) << text;
  }
}

TEST(NodeCount, OneOrARange) {
  EXPECT_EQ(parse_node_count("4")->max, 4);
  EXPECT_EQ(parse_node_count("2-4")->min, 2);
  EXPECT_EQ(parse_node_count("1k")->min, 1024);
  for (const char* text : {"", "0", "4-2", "-1", "1-2-3", "x", "9999999"}) {
    EXPECT_FALSE(parse_node_count(text).ok()) << text;
  }
}

TEST(Dependencies, AllKinds) {
  auto all =
      parse_dependency("afterok:1:2,after:3+5,afterany:4,afternotok:5,aftercorr:6,singleton");
  ASSERT_TRUE(all.ok());
  EXPECT_FALSE(all->any);
  ASSERT_EQ(all->list.size(), 7u);
  EXPECT_EQ(all->list[1].kind, DependencyKind::kAfterOk);
  EXPECT_EQ(all->list[1].job, JobId(2));
  EXPECT_EQ(all->list[2].kind, DependencyKind::kAfter);
  EXPECT_EQ(all->list[2].delay, seconds(300));
  EXPECT_EQ(all->list[6].kind, DependencyKind::kSingleton);
  EXPECT_TRUE(parse_dependency("afterok:1?afterok:2")->any);
}

TEST(Dependencies, ElementsOfArraysAreLookedUp) {
  auto find = [](JobId array, std::int32_t index) -> Result<JobId> {
    return JobId(array.value + static_cast<std::uint64_t>(index));
  };
  EXPECT_EQ(parse_dependency("afterok:100_4", find)->list[0].job, JobId(104));
  EXPECT_EQ(parse_dependency("afterok:100_*", find)->list[0].job, JobId(100));
  auto refused = parse_dependency("afterok:100_4");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("own job id"), std::string::npos);
}

TEST(Dependencies, RefusesTheRest) {
  for (const char* text : {"afterok", "afterok:", "afterok:x", "afterok:0", "afterok:1+5", "1",
                           "afterok:1,afterok:2?afterok:3", "sometime:1", "expand:1", ",",
                           "afterburstbuffer:1", "after:1+x"}) {
    EXPECT_FALSE(parse_dependency(text).ok()) << text;
  }
}

TEST(Arrays, RangesListsStepsAndLimits) {
  auto array = parse_array("0-9%2");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->indices.size(), 10u);
  EXPECT_EQ(array->running_max, 2);
  EXPECT_EQ(parse_array("5-7,1,3")->indices, (std::vector<std::int32_t>{1, 3, 5, 6, 7}));
  EXPECT_EQ(parse_array("0-15:4")->indices, (std::vector<std::int32_t>{0, 4, 8, 12}));
  for (const char* text :
       {"", "x", "5-1", "0-15:0", "1:2", "1%0", "%", "-1", "0-4000000", "4000001", "1,", "1-2-3"}) {
    EXPECT_FALSE(parse_array(text).ok()) << text;
  }
}

TEST(Hostlists, BracketsKeepZeros) {
  EXPECT_EQ(*parse_hostlist("node[01-03,7],login"),
            (std::vector<std::string>{"node01", "node02", "node03", "node7", "login"}));
  EXPECT_EQ(*parse_hostlist("r[1-2]n[1-2]"),
            (std::vector<std::string>{"r1n1", "r1n2", "r2n1", "r2n2"}));
  EXPECT_EQ(*parse_hostlist("a,a\nb\n"), (std::vector<std::string>{"a", "b"}));
  for (const char* text : {"", "a[", "a]", "a[1", "a[[1]]", "a[3-1]", "a[x]", "../etc", "a b", "-x",
                           "n[0-999999999]", "a[0-999]b[0-999]"}) {
    EXPECT_FALSE(parse_hostlist(text).ok()) << text;
  }
  std::string bomb(300, 'a');
  EXPECT_FALSE(parse_hostlist(bomb + "[1-99999]").ok());
}

// 2026-03-04 10:30:00 UTC.
constexpr Instant kNow{1'772'620'200'000'000};

TEST(Begin, EveryFormOfSbatch) {
  struct Case {
    const char* text;
    std::int64_t after_s;
  };
  constexpr std::int64_t kDay = 86400;
  for (const Case& c : {Case{"now", 0},
                        Case{"now+60", 60},
                        Case{"now + 2 hours", 7200},
                        Case{"now+1hour", 3600},
                        Case{"now+3days", 3 * kDay},
                        Case{"now+1week", 7 * kDay},
                        Case{"11:00", 1800},
                        Case{"10:00", kDay - 1800},
                        Case{"11:00:30", 1830},
                        Case{"1:30pm", 3 * 3600},
                        Case{"1:30 PM", 3 * 3600},
                        Case{"12:00am", kDay - 37800},
                        Case{"noon", 5400},
                        Case{"midnight", kDay - 37800},
                        Case{"teatime", 5 * 3600 + 1800},
                        Case{"tomorrow", kDay - 37800},
                        Case{"today", -37800},
                        Case{"2026-03-05", kDay - 37800},
                        Case{"2026-03-04T12:30", 7200},
                        Case{"2026-03-04T10:30:01", 1},
                        Case{"03/05/26", kDay - 37800},
                        Case{"030526", kDay - 37800},
                        Case{"03/05", kDay - 37800},
                        Case{"03/04/26-12:30", 7200},
                        Case{"03/03", 364 * kDay - 37800}}) {
    auto at = parse_begin(c.text, kNow, 0);
    ASSERT_TRUE(at.ok()) << c.text << ": " << at.error().message;
    EXPECT_EQ((at->us - kNow.us) / 1'000'000, c.after_s) << c.text;
  }
}

TEST(Begin, LocalTime) {
  // 11:30 in Berlin's winter.
  EXPECT_EQ(parse_begin("12:30", kNow, 3600)->us - kNow.us, 3'600'000'000);
  EXPECT_EQ(parse_begin("2026-03-04T11:30", kNow, 3600)->us, kNow.us);
}

TEST(Begin, RefusesTheRest) {
  for (const char* text :
       {"", "soon", "now-1hour", "now+", "now+1fortnight", "25:00", "13:00pm", "2026-02-30",
        "2026-13-01", "26-03-04", "2026-03-04T", "now+99999999999", "0:00am", "12", "03/05/26/1"}) {
    EXPECT_FALSE(parse_begin(text, kNow, 0).ok()) << text;
  }
  EXPECT_FALSE(parse_begin("now", Instant{0}, 0).ok());
}

TEST(Signals, NamesAndNumbers) {
  EXPECT_EQ(*parse_signal("USR1"), 10);
  EXPECT_EQ(*parse_signal("sigterm"), 15);
  EXPECT_EQ(*parse_signal("9"), 9);
  for (const char* text : {"", "0", "65", "SIG", "NOPE", "-9"}) {
    EXPECT_FALSE(parse_signal(text).ok()) << text;
  }
}

}  // namespace
}  // namespace dove::jobfiles
