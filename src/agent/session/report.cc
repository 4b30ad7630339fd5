#include "agent/session/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"

namespace dove::agent {
namespace {

const char* kind_text(ReportKind kind) {
  switch (kind) {
    case ReportKind::kPrepared:
      return "prepared";
    case ReportKind::kStarted:
      return "started";
    case ReportKind::kTaskEnded:
      return "task_ended";
    case ReportKind::kEnded:
      return "ended";
    case ReportKind::kLaunchFailed:
      return "launch_failed";
    case ReportKind::kStepEnded:
      return "step_ended";
    case ReportKind::kRefused:
      return "refused";
  }
  return "";
}

}  // namespace

std::int64_t started_ago_us(std::int64_t started_us, std::int64_t now_us) {
  return std::max<std::int64_t>(now_us - started_us, 1);
}

nlohmann::json report_json(const Report& report, std::int64_t now_us) {
  nlohmann::json out{{"kind", kind_text(report.kind)},
                     {"job", report.key.job.value},
                     {"attempt", report.key.attempt}};
  nlohmann::json exits = nlohmann::json::array();
  for (const TaskExit& exit : report.exits) exits.push_back(codec::task_exit_json(exit));
  switch (report.kind) {
    case ReportKind::kPrepared:
    case ReportKind::kStarted:
      break;
    case ReportKind::kTaskEnded:
      if (!exits.empty()) out["exit"] = exits.front();
      break;
    case ReportKind::kEnded:
      out["exits"] = std::move(exits);
      out["cpu_us"] = report.cpu_us;
      out["memory_peak_bytes"] = report.memory_peak_bytes;
      if (report.started_us != 0) {
        out["started_ago_us"] = started_ago_us(report.started_us, now_us);
      }
      break;
    case ReportKind::kLaunchFailed:
    case ReportKind::kRefused:
      out["why"] = report.why;
      break;
    case ReportKind::kStepEnded:
      out["step"] = report.step;
      out["exits"] = std::move(exits);
      break;
  }
  return out;
}

}  // namespace dove::agent
