#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/client/signals.h"
#include "cli/face.h"
#include "cli/slurm/format.h"
#include "cli/slurm/job_fields.h"
#include "cli/tcloud/paths.h"
#include "cli/terminal/job_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/times.h"
#include "cli/terminal/yaml_text.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000;

JobView running_job() {
  JobView job;
  job.id = job.shown_id = "7";
  job.name = "digits-training";
  job.user = "ann";
  job.pool = "gpu";
  job.state = "running";
  job.nodes_asked = 2;
  AttemptView attempt;
  attempt.number = 1;
  attempt.nodes = {"node1", "node2"};
  attempt.allocated_at_us = 11 * kSecond;
  attempt.started_at_us = 12 * kSecond;
  job.submitted_at_us = 10 * kSecond;
  job.attempts = {attempt};
  return job;
}

std::string squeue_line(const JobView& job) {
  const auto pieces = parse_percent_format("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R");
  return format_line(*pieces, [&](char field) { return squeue_field(job, field, 77 * kSecond); });
}

TEST(Squeue, DefaultFormatIsSlurms) {
  const auto pieces = parse_percent_format("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R");
  EXPECT_EQ(format_line(*pieces, squeue_title),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)");
  EXPECT_EQ(squeue_line(running_job()),
            "                 7       gpu digits-t      ann  R       1:05      2 node[1-2]");
  JobView waiting = running_job();
  waiting.attempts.clear();
  waiting.state = "waiting";
  waiting.reasons = {{"resources", ""}};
  EXPECT_EQ(squeue_line(waiting),
            "                 7       gpu digits-t      ann PD       0:00      2 (Resources)");
  waiting.reasons.push_back({"ahead", ""});
  EXPECT_EQ(slurm_reason(waiting), "Priority");
  waiting.state = "held";
  EXPECT_EQ(slurm_reason(waiting), "JobHeldUser");
  for (const char* kind : {"project_limit", "domain", "labels", "reserved", "reservation"}) {
    waiting.reasons = {{kind, ""}};
    EXPECT_NE(slurm_reason(waiting), "None") << kind;
  }
}

TEST(Squeue, FormatsAreReadOrRefused) {
  EXPECT_EQ(
      format_line(*parse_percent_format("%i|%%|%8j<"), [](char f) { return std::string(1, f); }),
      "i|%|j       <");
  EXPECT_FALSE(parse_percent_format("%.18").ok());
  const auto named = parse_long_format("jobid:.6,Name:4,State", squeue_long_names());
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(format_line(*named, [](char f) { return std::string(1, f); }),
            "     Aj   T" + std::string(19, ' '));
  const auto wrong = parse_long_format("JobbID", squeue_long_names());
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("JobID"), std::string::npos);
}

TEST(Squeue, StatesHaveBothNames) {
  EXPECT_EQ(states_of_slurm("pd"), (std::vector<std::string>{"waiting", "held"}));
  EXPECT_EQ(states_of_slurm("NODE_FAIL"), std::vector<std::string>{"node_lost"});
  EXPECT_TRUE(states_of_slurm("happy").empty());
}

TEST(Table, ColumnsAreAligned) {
  Table table({{"ID"}, {"NAME"}, {"TIME", true}});
  table.add({{"7", ""}, {"größe", ""}, {"1:05", ""}});
  table.add({{"12", ""}, {"a\nb", ""}, {"10:00", ""}});
  EXPECT_EQ(table.text(false),
            "ID  NAME    TIME\n"
            "7   größe   1:05\n"
            "12  a?b    10:00\n");
}

TEST(JobText, SaysWhereTheTimeWent) {
  JobView job = running_job();
  job.state = "completed";
  job.ended = true;
  job.tasks = 4;
  job.cores = 4;
  job.gpus_milli = 4000;
  job.queue = "default";
  job.attempts[0].stop_at_us = 20 * kSecond;
  job.attempts[0].ended_at_us = 21 * kSecond;
  job.attempts[0].stop_reason = "node_lost";
  job.attempts[0].exits = {{2, 0, 9, "fenced"}};
  AttemptView second = job.attempts[0];
  second.number = 2;
  second.nodes = {"node3", "node4"};
  second.allocated_at_us = 24 * kSecond;
  second.started_at_us = 24 * kSecond;
  second.stop_at_us = 0;
  second.ended_at_us = 40 * kSecond;
  second.stop_reason = "finished";
  second.exits.clear();
  job.attempts.push_back(second);
  const std::string text = job_text(job, 50 * kSecond, false);
  EXPECT_NE(text.find("Job 7 digits-training: completed\n"), std::string::npos) << text;
  EXPECT_NE(text.find("4 tasks on 2 nodes, 4 cores, 4 GPUs"), std::string::npos) << text;
  EXPECT_NE(text.find("1        node[1-2]     1.0s       1.0s     8.0s      1.0s  node_lost\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2        node[3-4]     3.0s       0.0s      16s      0.0s  finished\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Time: 4.0s waiting, 1.0s preparing, 24s running, 1.0s stopping"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Attempt 1: rank 2: signal 9 (fenced)"), std::string::npos) << text;
}

TEST(JobText, SaysWhoCancelledIt) {
  JobView job = running_job();
  job.state = "cancelled";
  job.ended = true;
  job.ended_at_us = 40 * kSecond;
  job.cancelled_by = "ada";
  EXPECT_NE(job_text(job, 50 * kSecond, false).find(", cancelled by ada\n"), std::string::npos);
  job.cancelled_by.clear();
  EXPECT_EQ(job_text(job, 50 * kSecond, false).find("cancelled by"), std::string::npos);
}

TEST(Times, AreWrittenAsPeopleReadThem) {
  EXPECT_EQ(clock_text(5 * kSecond), "0:05");
  EXPECT_EQ(clock_text(3723 * kSecond), "1:02:03");
  EXPECT_EQ(clock_text(183845 * kSecond), "2-03:04:05");
  EXPECT_EQ(span_text(400'000), "0.4s");
  EXPECT_EQ(span_text(200 * kSecond), "3m 20s");
  EXPECT_EQ(parse_span_us("5m"), 300 * kSecond);
  EXPECT_EQ(parse_span_us("250ms"), 250'000);
  EXPECT_FALSE(parse_span_us("soon").has_value());
  EXPECT_EQ(bytes_text(64LL << 30), "64G");
  EXPECT_EQ(bytes_text(1536), "1.5K");
}

TEST(Yaml, WhatIsPrintedIsReadAgain) {
  const json value = {{"kind", "Pool"},
                      {"name", "12"},
                      {"empty", ""},
                      {"script", "#!/bin/sh\necho hi\n"},
                      {"nodes", {"gpu-[001-004]", "*"}},
                      {"limits", {{"cores", 4}, {"open", true}, {"none", nullptr}}},
                      {"list", {{{"a", 1}, {"b", {1, 2}}}, json::object(), json::array()}},
                      {"quote", "it's: \"x\" # y"},
                      {"no", "yes"}};
  const auto read = read_yaml("x", yaml_text(value));
  ASSERT_TRUE(read.ok()) << read.error().message << "\n" << yaml_text(value);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front(), value) << yaml_text(value);
}

TEST(Yaml, ErrorsNameThePlace) {
  const auto twice = read_yaml("pools.yaml", "kind: Pool\nkind: Queue\n");
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message.find("pools.yaml:2:1"), std::string::npos)
      << twice.error().message;
  const auto open = read_yaml("-", "kind: [Pool\nname: a\n");
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().message,
            "-:1:7: the [ is never closed: write a ] behind its last item, or quotes around a text "
            "that begins with [");
  EXPECT_EQ(read_yaml("x", "a: 'it''s [' # {\nb: [1, {c: 2]\n").error().field, "x:2:4");
}

TEST(Signals, HaveNamesAndNumbers) {
  EXPECT_EQ(*signal_number("TERM"), 15);
  EXPECT_EQ(*signal_number("sigusr1"), 10);
  EXPECT_EQ(*signal_number("9"), 9);
  EXPECT_FALSE(signal_number("BOO").ok());
  EXPECT_FALSE(signal_number("0").ok());
}

TEST(TcloudAdd, ReplacesThePackageAndKeepsTheRest) {
  const std::string text =
      "# mine\nentrypoint:\n  - python x.py\nenvironment:\n  name: e\n  dependencies:\n"
      "    - numpy=1.2  # old\n    - scipy\njob:\n  name: x\n";
  const auto replaced = with_dependency(text, "numpy=1.26");
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ(*replaced,
            "# mine\nentrypoint:\n  - python x.py\nenvironment:\n  name: e\n  dependencies:\n"
            "    - scipy\n    - numpy=1.26\njob:\n  name: x\n");
  EXPECT_FALSE(with_dependency("entrypoint:\n  - x\n", "numpy").ok());
}

TEST(Table, WidthsAreColumnsOfATerminal) {
  EXPECT_EQ(width_of("tr\u00e8s"), 4u);
  EXPECT_EQ(width_of("\u540d\u524d"), 4u);  // two wide characters
  EXPECT_EQ(width_of("e\u0301"), 1u);       // a mark on its letter
  EXPECT_EQ(fitted("\u540d\u524d", 3, false), "\u540d ");
  EXPECT_EQ(clipped("\u540d\u524d-x", 6), "\u540d\u524d-x");
  EXPECT_EQ(clipped("\u540d\u524d-x", 5), "\u540d\u524d\u2026");
  EXPECT_EQ(clipped("\u540d\u524d-x", 4), "\u540d\u2026");
  EXPECT_EQ(clipped("abc", 0), "");
}

TEST(Table, TheLastColumnTakesTheRoomThereIs) {
  Table table({{"ID"}, {"REASON"}});
  table.add({{"7", ""}, {std::string(50, 'x'), ""}});
  EXPECT_EQ(table.text(false), "ID  REASON\n7   " + std::string(50, 'x') + "\n");
  EXPECT_EQ(table.text(false, 34), "ID  REASON\n7   " + std::string(29, 'x') + "\u2026\n");
  EXPECT_EQ(table.text(false, 5), "ID  REASON\n7   " + std::string(19, 'x') + "\u2026\n");
}

TEST(Times, ProseHasTheReadersTimes) {
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  EXPECT_EQ(with_local_times("starts after 2026-11-22 14:06:44 UTC, or 2026-07-01T23:30:00.25Z."),
            "starts after 2026-11-22 15:06:44 CET, or 2026-07-02 01:30:00 CEST.");
  for (const char* same : {"", "2026-11-22", "2026-11-22 14:06:44", "at 2026-11-22T14:06:44+01:00",
                           "2026-11-22 14:06:44 UT", "2026-11-22T14:06:44.9"}) {
    EXPECT_EQ(with_local_times(same), same);
  }
  setenv("TZ", "UTC", 1);
  tzset();
}

}  // namespace
}  // namespace dove::cli
