// dove use: how much a job uses of what it holds, or used when it ran.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/commands/job_list.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 48;  // of a line's course

std::string percent_text(const json& value) {
  return value.is_number() ? fmt::format("{:.0f} %", value.get<double>()) : "-";
}

// A block an eighth to eight eighths high for each step, several steps in one where there are many;
// a dot where nothing was measured.
std::string course_text(const json& steps) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t in_one = (steps.size() + kColumns - 1) / kColumns;
  std::string out;
  for (std::size_t at = 0; at < steps.size(); at += in_one) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = at; i < std::min(at + in_one, steps.size()); ++i) {
      if (!steps[i].is_number()) continue;
      sum += steps[i].get<double>();
      ++count;
    }
    out += count == 0 ? "·" : kBlocks[std::clamp(static_cast<int>(sum / count / 12.5), 0, 7)];
  }
  return out;
}

const json* last_known(const json& steps) {
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    if (at->is_number()) return &*at;
  }
  return nullptr;
}

std::string line_text(const std::string& what, const json& line) {
  const json& mean = line.at("mean");
  const json* now = last_known(mean);
  if (now == nullptr) return "";
  return fmt::format("  {:<11} {:>5}  {}\n", what, percent_text(*now), course_text(mean));
}

// "0: 12 %, 1: 90 %"; nothing where the node has no more than one.
std::string gpus_text(const json& node) {
  const json devices = node.value("devices", json::array());  // an older server has none
  if (devices.size() < 2) return "";
  std::string out;
  for (const json& one : devices) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", one.at("device").get<int>(),
                       percent_text(one.at("gpu")));
  }
  return out;
}

// When somebody used the session last; nothing where that is not known.
std::string last_input_text(const json& use) {
  const std::string at = text_of(use, "last_input");  // an older server has none
  return at.empty() ? "" : with_local_times(fmt::format("It was last used at {}.\n", at));
}

std::string use_text(Api&, const json& whole, const json& use) {
  const JobView job = read_job(whole);
  const bool is_over = text_of(whole, "phase") == "ended";
  if (!use.at("begin").is_string()) {
    return fmt::format("Job {} is {}; {}.\n", job.shown_id, job.state,
                       job.state == "running" ? "its nodes have not reported its use yet"
                       : is_over              ? "what it used is no longer known"
                                              : "its nodes report its use while it runs");
  }
  const json& mean = use.at("cpu").at("mean");
  const auto span_us = static_cast<std::int64_t>(use.at("step_s").get<double>() * 1e6) *
                       static_cast<std::int64_t>(mean.size());
  std::string out = is_over ? fmt::format("Job {} used, of what it held (over {}):\n", job.shown_id,
                                          span_text(span_us))
                            : fmt::format("Job {} uses, of what it holds (the last {}):\n",
                                          job.shown_id, span_text(span_us));
  out += line_text("GPU", use.at("gpu")) + line_text("GPU memory", use.at("gpu_memory")) +
         line_text("CPU", use.at("cpu")) + last_input_text(use);
  const json& nodes = use.at("nodes");
  if (nodes.size() == 1 && !gpus_text(nodes[0]).empty()) {
    return out + fmt::format("Its GPUs: {}\n", gpus_text(nodes[0]));
  }
  if (nodes.size() < 2) return out;
  out += "The nodes that do least:\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(nodes.size(), 3); ++i) {
    out += fmt::format("  {}: GPU {}, GPU memory {}, CPU {}\n", text_of(nodes[i], "node"),
                       percent_text(nodes[i].at("gpu")), percent_text(nodes[i].at("gpu_memory")),
                       percent_text(nodes[i].at("cpu")));
    if (!gpus_text(nodes[i]).empty()) out += fmt::format("    GPUs: {}\n", gpus_text(nodes[i]));
  }
  return out;
}

Result<int> run_use(const Invocation& invocation) {
  return print_of_each_job(invocation, "/use", use_text);
}

}  // namespace

std::vector<Command> use_commands() {
  CommandSpec use;
  use.name = "use";
  use.summary = "Show how much a job uses of its GPUs, their memory and its cores";
  use.group = "Jobs";
  use.operands = "JOB...";
  use.completes = "job";
  use.operands_min = 1;
  use.operands_max = -1;
  use.description =
      "Percent of what the job holds, now and over the time that it has run; for a node, its\n"
      "busiest GPU counts. A gang's line is the mean of its nodes; those that use the least are\n"
      "named. For a session, it says when somebody last used it. For the last 1000 jobs that\n"
      "ended since the server started, it shows their last attempt.";
  use.options = {output_option()};
  return {{use, guarded("use", run_use)}};
}

}  // namespace dove::cli
