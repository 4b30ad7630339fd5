#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "telemetry/clock.h"
#include "telemetry/json_text.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace dove::telemetry {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(Clock, runs_forward_and_is_in_this_century) {
  const std::int64_t before = monotonic_us();
  EXPECT_LE(before, monotonic_us());
  EXPECT_GT(now_us(), 1'600'000'000'000'000);
}

TEST(JsonText, escapes_and_repairs) {
  EXPECT_EQ(quoted("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(quoted("grün €😀"), "\"grün €😀\"");
  EXPECT_EQ(quoted("\xFFx\xC3"), "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a surrogate
}

TEST(Log, writes_json_with_typed_fields) {
  EXPECT_EQ(format_json(1'700'000'000'123'456, Level::kWarning, "agent_lost",
                        {{"node", std::string("n1")}, {"tasks", 3u}, {"clean", false}}),
            R"({"at":"2023-11-14T22:13:20.123456Z","level":"warning","event":"agent_lost",)"
            R"("node":"n1","tasks":3,"clean":false})");
}

TEST(Log, writes_text_for_people) {
  EXPECT_EQ(format_text(1'700'000'000'123'456, Level::kInfo, "listening", {{"port", 80}}),
            "22:13:20.123 info    listening port=80");
}

TEST(Log, lines_of_two_threads_stay_whole) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  const auto chatter = [] {
    for (int i = 0; i < 100; ++i) log(Level::kInfo, "tick", {{"i", i}});
  };
  std::thread other(chatter);
  chatter();
  other.join();
  log(Level::kDebug, "below_the_level");
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(ends[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int lines = 0;
  for (std::size_t at = 0; at < all.size(); ++lines) {
    const std::size_t end = all.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(all.substr(at, 7), "{\"at\":\"");
    EXPECT_EQ(all[end - 1], '}');
    at = end + 1;
  }
  EXPECT_EQ(lines, 200);
}

TEST(Metrics, renders_for_prometheus) {
  Metrics metrics;
  metrics.counter("dove_jobs_total", "Jobs.", {{"state", "done"}}).add(3);
  metrics.counter("dove_jobs_total", "Jobs.", {{"state", "done"}}).add();
  metrics.gauge("dove_nodes", "Nodes.").set(-2);
  const std::string text = metrics.render();
  EXPECT_NE(text.find("# TYPE dove_jobs_total counter\ndove_jobs_total{state=\"done\"} 4\n"),
            std::string::npos);
  EXPECT_NE(text.find("# HELP dove_nodes Nodes.\n# TYPE dove_nodes gauge\ndove_nodes -2\n"),
            std::string::npos);
}

TEST(Metrics, histogram_counts_in_powers_of_two) {
  Metrics metrics;
  Histogram& histogram = metrics.histogram("dove_step_seconds", "A step.");
  for (std::int64_t value : {0, 1, 2, 3, 1000, 5'000'000}) histogram.observe(value);
  EXPECT_EQ(histogram.count(), 6u);
  EXPECT_EQ(histogram.quantile(500), 2);
  EXPECT_EQ(histogram.quantile(1000), 8'388'608);
  const std::string text = metrics.render();
  EXPECT_NE(text.find("dove_step_seconds_bucket{le=\"0.000001\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("dove_step_seconds_bucket{le=\"0.000004\"} 4\n"), std::string::npos);
  EXPECT_NE(text.find("dove_step_seconds_bucket{le=\"+Inf\"} 6\n"), std::string::npos);
  EXPECT_NE(text.find("dove_step_seconds_sum 5.001006\n"), std::string::npos);
}

TEST(Metrics, counts_from_many_threads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Counter& counter = metrics.counter("dove_ticks_total", "Ticks.");
      for (int i = 0; i < 1000; ++i) counter.add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics.counter("dove_ticks_total", "Ticks.").value(), 4000u);
}

}  // namespace
}  // namespace dove::telemetry
