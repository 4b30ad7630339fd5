#include "cli/terminal/job_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "text/feature_expression.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

constexpr std::size_t kExitsShown = 8;

void line(std::string& out, const char* title, const std::string& text) {
  if (!text.empty()) out += fmt::format("  {:<11} {}\n", title, printable(text));
}

std::string asked_text(const JobView& job) {
  const auto count = [](std::int64_t n, const char* one) {
    return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
  };
  std::string text = count(job.tasks, "task") + " on " + count(job.nodes_asked, "node");
  if (job.cores > 0) text += ", " + count(job.cores, "core");
  if (job.gpus_milli > 0) {
    text +=
        fmt::format(", {} GPU{}", milli_text(job.gpus_milli), job.gpus_milli == 1000 ? "" : "s");
  }
  if (job.memory_bytes > 0) text += ", " + bytes_text(job.memory_bytes) + " memory";
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string progress_line(const ProgressView& progress) {
  if (progress.ranks == 0) return "";
  std::string text = fmt::format("step {}", progress.step);
  if (progress.step_max > progress.step)
    text += fmt::format(" (first rank at {})", progress.step_max);
  if (progress.step_us > 0) text += fmt::format(", {} a step", step_time_text(progress.step_us));
  if (progress.ranks > 1 && progress.busy_max_us > 0) {
    text += fmt::format(", {} ranks busy for {} to {}, longest rank {}", progress.ranks,
                        step_time_text(progress.busy_min_us), step_time_text(progress.busy_max_us),
                        progress.slowest_rank);
  }
  if (!progress.loss.empty()) text += ", loss " + progress.loss;
  if (!progress.phase.empty()) text += ", " + progress.phase;
  return text;
}

std::string how_it_ended(const AttemptView& attempt) {
  if (!attempt.stop_reason.empty()) return attempt.stop_reason;
  return attempt.stage;
}

std::string attempts_text(const JobView& job, std::int64_t now_us, bool colours) {
  Table table({{"ATTEMPT"},
               {"NODES"},
               {"WAITING", true},
               {"PREPARING", true},
               {"RUNNING", true},
               {"STOPPING", true},
               {"END"}});
  TimeSpent sum;
  std::int64_t ready_at_us = std::max(job.submitted_at_us, job.eligible_at_us);
  for (const AttemptView& attempt : job.attempts) {
    const TimeSpent spent = time_spent(attempt, ready_at_us, now_us);
    sum.waiting_us += spent.waiting_us;
    sum.preparing_us += spent.preparing_us;
    sum.running_us += spent.running_us;
    sum.stopping_us += spent.stopping_us;
    if (attempt.ended_at_us != 0) ready_at_us = attempt.ended_at_us;
    table.add({{std::to_string(attempt.number), ""},
               {text::fold_sorted_hostlist(attempt.nodes), ""},
               {span_text(spent.waiting_us), ""},
               {span_text(spent.preparing_us), ""},
               {span_text(spent.running_us), ""},
               {span_text(spent.stopping_us), ""},
               {how_it_ended(attempt), ""}});
  }
  std::string out = "\n" + table.text(colours);
  out += fmt::format("\nTime: {} waiting, {} preparing, {} running, {} stopping\n",
                     span_text(sum.waiting_us), span_text(sum.preparing_us),
                     span_text(sum.running_us), span_text(sum.stopping_us));
  return out;
}

std::string exits_text(const JobView& job) {
  std::string out;
  for (const AttemptView& attempt : job.attempts) {
    std::size_t shown = 0;
    for (const ExitView& exit : attempt.exits) {
      if (exit.exit_code == 0 && exit.signal == 0 && exit.cause.empty()) continue;
      if (++shown > kExitsShown) continue;
      out += fmt::format("Attempt {}: {}\n", attempt.number, printable(exit_text(exit)));
    }
    if (shown > kExitsShown) {
      out += fmt::format("Attempt {}: {} more tasks failed\n", attempt.number, shown - kExitsShown);
    }
  }
  return out;
}

}  // namespace

TimeSpent time_spent(const AttemptView& attempt, std::int64_t ready_at_us, std::int64_t now_us) {
  const std::int64_t end_us = attempt.ended_at_us != 0 ? attempt.ended_at_us : now_us;
  const std::int64_t stop_us =
      attempt.stop_at_us != 0 ? std::min(attempt.stop_at_us, end_us) : end_us;
  const std::int64_t start_us = attempt.started_at_us != 0 ? attempt.started_at_us : stop_us;
  TimeSpent spent;
  spent.waiting_us = std::max<std::int64_t>(attempt.allocated_at_us - ready_at_us, 0);
  spent.preparing_us = std::max<std::int64_t>(start_us - attempt.allocated_at_us, 0);
  spent.running_us = std::max<std::int64_t>(stop_us - start_us, 0);
  spent.stopping_us = std::max<std::int64_t>(end_us - std::max(stop_us, start_us), 0);
  return spent;
}

std::string step_time_text(std::int64_t us) {
  if (us < 1'000'000) return fmt::format("{:.3g} ms", static_cast<double>(us) / 1e3);
  return fmt::format("{:.2f} s", static_cast<double>(us) / 1e6);
}

std::string step_text(const ProgressView& progress) {
  if (progress.ranks == 0) return "";
  if (progress.step_us == 0) return std::to_string(progress.step);
  return fmt::format("{} ({})", progress.step, step_time_text(progress.step_us));
}

std::string exit_text(const ExitView& exit) {
  std::string text = exit.signal != 0
                         ? fmt::format("rank {}: signal {}", exit.rank, exit.signal)
                         : fmt::format("rank {}: exit code {}", exit.rank, exit.exit_code);
  if (!exit.cause.empty()) text += fmt::format(" ({})", exit.cause);
  return text;
}

std::string promise_text(const JobView& job) {
  if (job.promised_start_us == 0) return "";
  return fmt::format("Promised to start by {}\n", zoned_text(job.promised_start_us));
}

std::string job_text(const JobView& job, std::int64_t now_us, bool colours) {
  std::string out =
      fmt::format("Job {} {}: {}\n", styled(job.shown_id, "1", colours), printable(job.name),
                  styled(job.state, state_style(job.state), colours));
  line(out, "Id", job.id == job.shown_id ? "" : job.id);
  line(out, "User", job.user + (job.project.empty() ? "" : " (project " + job.project + ")"));
  line(out, "Queue", job.queue + (job.pool.empty() ? "" : ", pool " + job.pool));
  line(out, "Asked", asked_text(job));
  line(out, "Priority", job.priority == 0 ? "" : std::to_string(job.priority));
  line(out, "Time limit", job.time_limit_us == 0 ? "none" : span_text(job.time_limit_us));
  line(out, "After", joined(job.dependencies));
  line(out, "Features", text::write_feature_expression(job.features));
  line(out, "Placing", job.nearness);
  line(out, "Source", job.source_name);
  line(out, "Command", job.command);
  line(out, "Directory", job.workdir);
  line(out, "Output", job.stdout_path);
  line(out, "Submitted", when_text(job.submitted_at_us));
  if (job.begin_at_us != 0) line(out, "Begins", when_text(job.begin_at_us));
  if (job.deadline_us != 0) line(out, "Deadline", when_text(job.deadline_us));
  if (job.ends_by_us != 0) line(out, "Ends by", when_text(job.ends_by_us));
  line(out, "Reservation", job.reservation);
  line(out, "Progress", progress_line(job.progress));
  line(out, "Hangs", job.progress.hang);
  line(out, "Idle", job.idle);
  if (job.kept_until_us != 0) line(out, "Kept", "until " + when_text(job.kept_until_us));
  line(out, "Share", job.shares);
  for (const std::string& warning : job.warnings) line(out, "Warning", warning);
  line(out, "GPU time", job.gpu_time);
  if (job.ended) {
    const bool by_somebody = job.state == "cancelled" && !job.cancelled_by.empty();
    line(out, "Ended",
         when_text(job.ended_at_us) + (by_somebody ? ", cancelled by " + job.cancelled_by : ""));
    line(out, "Exit code", std::to_string(job.exit_code));
  }
  if (!job.attempts.empty()) out += attempts_text(job, now_us, colours);
  out += exits_text(job);
  if (job.waiting()) {
    out += fmt::format("\n{} for {}{}\n", job.state == "held" ? "Held" : "Waiting",
                       span_text(now_us - job.submitted_at_us), job.reasons.empty() ? "" : ":");
    for (const ReasonView& reason : job.reasons)
      out += fmt::format("  - {}\n", printable(reason.text));
    out += promise_text(job);
  }
  return out;
}

}  // namespace dove::cli
