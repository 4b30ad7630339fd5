#include "cli/client/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.h"
#include "cli/terminal/times.h"
#include "codec/quantity.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

std::int64_t instant_us_of(const json& object, const std::string& name) {
  return number_of(object, (name + "_us").c_str());
}

std::vector<std::string> texts_of(const json& object, const char* name) {
  std::vector<std::string> texts;
  for (const json& one : list_of(object, name)) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
    if (one.is_number_integer()) texts.push_back(one.dump());
    if (one.is_object()) texts.push_back(text_of(one, one.contains("name") ? "name" : "id"));
  }
  return texts;
}

AttemptView read_attempt(const json& attempt) {
  AttemptView view;
  view.number = number_of(attempt, "number");
  view.stage = text_of(attempt, "stage");
  view.stop_reason = text_of(attempt, "stop_reason");
  view.allocated_at_us = instant_us_of(attempt, "allocated_at");
  view.started_at_us = instant_us_of(attempt, "started_at");
  view.stop_at_us = instant_us_of(attempt, "stop_at");
  view.ended_at_us = instant_us_of(attempt, "ended_at");
  view.nodes = texts_of(attempt, "nodes");
  for (const json& placement : list_of(attempt, "placements")) {
    const auto cores = static_cast<std::int64_t>(list_of(placement, "cores").size());
    if (view.cores == 0) view.first_node_cores = cores;
    view.cores += cores;
    view.memory_bytes += number_of(placement, "memory_bytes");
  }
  for (const json& exit : list_of(attempt, "exits")) {
    view.exits.push_back({number_of(exit, "rank"), number_of(exit, "exit_code"),
                          number_of(exit, "signal"), text_of(exit, "cause")});
  }
  return view;
}

StepView read_step(const json& step) {
  StepView view;
  view.number = number_of(step, "number");
  view.name = text_of(step, "name");
  view.nodes = texts_of(step, "nodes");
  view.tasks = number_of(step, "tasks");
  view.cores = number_of(step, "cores");
  view.started_at_us = instant_us_of(step, "started_at");
  view.ended_at_us = instant_us_of(step, "ended_at");
  view.exit_code = number_of(step, "exit_code");
  view.signal = number_of(step, "signal");
  return view;
}

std::string idle_line(const json& idle, bool ended) {
  const std::string evidence = text_of(idle, "evidence");
  const std::string rule = text_of(idle, "rule");
  if (ended) return fmt::format("stopped by the rule {}: {}", rule, evidence);
  return fmt::format("{}; stopped at {} by the rule {}", evidence,
                     when_text(number_of(idle, "ends_at_us")), rule);
}

ProgressView read_progress(const json& progress) {
  ProgressView view;
  view.ranks = number_of(progress, "ranks");
  view.step = number_of(progress, "step");
  view.step_max = number_of(progress, "step_max");
  view.step_us = number_of(progress, "step_us");
  view.busy_min_us = number_of(progress, "busy_min_us");
  view.busy_max_us = number_of(progress, "busy_max_us");
  view.slowest_rank = number_of(progress, "slowest_rank");
  view.phase = text_of(progress, "phase");
  view.hang = text_of(progress, "hang");
  if (progress.contains("loss") && progress["loss"].is_number()) {
    view.loss = fmt::format("{:.6g}", progress["loss"].get<double>());
  }
  return view;
}

std::string gpu_time_text(const json& goodput) {
  const auto hours = [](const json& value) {
    return fmt::format("{:.3g} h", value.is_number() ? value.get<double>() / 3600 : 0.0);
  };
  std::string text = hours(goodput.value("useful_gpu_s", json(0))) + " useful";
  const json lost = goodput.value("lost_gpu_s", json::object());
  std::string causes;
  double sum_s = 0;
  for (const auto& [cause, value] : lost.items()) {
    sum_s += value.is_number() ? value.get<double>() : 0;
    causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", cause, hours(value));
  }
  if (sum_s > 0) text += fmt::format(", {} lost ({})", hours(json(sum_s)), causes);
  return text;
}

// An entry of the list of jobs says of the attempts only what the last one holds.
AttemptView read_attempt_summary(const json& job) {
  AttemptView view;
  view.number = number_of(job, "attempt");
  view.nodes = texts_of(job, "nodes");
  view.allocated_at_us = view.started_at_us = instant_us_of(job, "started_at");
  view.ended_at_us = instant_us_of(job, "ended_at");
  return view;
}

void read_group(const json& group, JobView& job) {
  const std::int64_t per_node = number_of(group, "tasks_per_node");
  const std::int64_t tasks = number_of(group, "tasks", 1);
  std::int64_t nodes = number_of(group, "nodes_min");
  if (nodes == 0 && per_node > 0) nodes = (tasks + per_node - 1) / per_node;
  job.nodes_asked += std::max<std::int64_t>(nodes, 1);
  if (job.cores_per_task == 0 && group.contains("per_task")) {
    job.cores_per_task = number_of(group["per_task"], "cores");
  }
}

void read_totals(const json& request, JobView& job) {
  job.tasks = number_of(request, "tasks");
  job.cores = number_of(request, "cores");
  job.gpus_milli = number_of(request, "gpus_milli");
  job.memory_bytes = number_of(request, "memory_bytes");
  if (job.nodes_asked == 0)
    job.nodes_asked = std::max<std::int64_t>(number_of(request, "nodes_min"), 1);
}

void read_exec(const json& exec, JobView& view) {
  view.workdir = text_of(exec, "workdir");
  view.source_name = text_of(exec, "source_name");
  const json* output = exec.contains("output") ? &exec["output"] : &exec;
  view.stdout_path = text_of(*output, "stdout_path");
  view.stderr_path = text_of(*output, "stderr_path");
  for (const std::string& word : texts_of(exec, "command")) {
    view.command += (view.command.empty() ? "" : " ") + word;
  }
}

std::string nearness_of(const json& spec) {
  std::vector<std::string> parts;
  if (const std::string domain = text_of(spec, "domain"); !domain.empty()) {
    parts.push_back(
        (flag_of(spec, "domain_required") ? "in one " : "in as few as possible of level ") +
        domain);
  }
  if (const std::string spread = text_of(spec, "spread"); spread == "pack" || spread == "spread") {
    parts.push_back(spread == "pack" ? "packed" : "spread");
  }
  if (const std::string label = text_of(spec, "label"); !label.empty()) {
    parts.push_back("label " + label);
  }
  for (const std::string& label : texts_of(spec, "near_labels")) parts.push_back("near " + label);
  for (const std::string& label : texts_of(spec, "apart_labels")) {
    parts.push_back("apart from " + label);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void read_spec(const json& spec, JobView& view) {
  view.name = text_of(spec, "name");
  view.user = text_of(spec, "user");
  view.project = text_of(spec, "project");
  view.queue = text_of(spec, "queue");
  view.pool = text_of(spec, "pool");
  view.launch = text_of(spec, "launch");
  view.time_limit_us = span_us_of(spec, "time_limit");
  view.ends_by_us = instant_us_of(spec, "ends_by");
  view.begin_at_us = instant_us_of(spec, "begin_at");
  view.deadline_us = instant_us_of(spec, "deadline");
  view.reservation = text_of(spec, "reservation");
  view.requeue = !spec.contains("requeue") || flag_of(spec, "requeue");
  view.features = texts_of(spec, "features");
  view.nodes_wanted = texts_of(spec, "nodes_wanted");
  view.nearness = nearness_of(spec);
  for (const json& group : list_of(spec, "groups")) read_group(group, view);
  for (const json& dependency : list_of(spec, "dependencies")) {
    const std::string other = text_of(dependency, "job");
    view.dependencies.push_back(text_of(dependency, "kind") + (other.empty() ? "" : ":" + other));
  }
}

// Fills in the part of an output's pattern that is the same for all tasks.
std::string shown_path(const std::string& pattern, const JobView& job) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    const std::string value = next == 'j'   ? job.id
                              : next == 'A' ? (job.array.empty() ? job.id : job.array)
                              : next == 'a' ? std::to_string(job.array_index)
                              : next == 'x' ? job.name
                              : next == 'u' ? job.user
                                            : "";
    out += value.empty() ? std::string(1, pattern[i]) : value;
    if (!value.empty()) ++i;
  }
  return out;
}

}  // namespace

std::int64_t span_us_of(const json& object, const std::string& name) {
  const std::int64_t us = number_of(object, (name + "_us").c_str());
  return us != 0 ? us : number_of(object, (name + "_s").c_str()) * 1'000'000;
}

std::string milli_text(std::int64_t milli) {
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 == 0) return text;
  std::string fraction = fmt::format("{:03}", milli % 1000);
  while (fraction.back() == '0') fraction.pop_back();
  return text + "." + fraction;
}

const json& items_of(const json& answer, const char* name) {
  if (answer.is_array()) return answer;
  const json& named = list_of(answer, name);
  return named.empty() ? list_of(answer, "items") : named;
}

const AttemptView* JobView::last_attempt() const {
  return attempts.empty() ? nullptr : &attempts.back();
}

std::vector<std::string> JobView::nodes() const {
  if (waiting() || attempts.empty()) return {};
  return attempts.back().nodes;
}

std::int64_t JobView::run_us(std::int64_t now_us) const {
  const AttemptView* attempt = last_attempt();
  if (attempt == nullptr || attempt->started_at_us == 0 || waiting()) return 0;
  const std::int64_t end_us = attempt->ended_at_us != 0 ? attempt->ended_at_us : now_us;
  return std::max<std::int64_t>(end_us - attempt->started_at_us, 0);
}

std::int64_t JobView::limit_at_us() const {
  if (ends_by_us != 0) return ends_by_us;
  // Controllers of the former version do not say it.
  const AttemptView* attempt = last_attempt();
  const bool began = attempt != nullptr && attempt->started_at_us != 0 && !waiting();
  return began && time_limit_us != 0 ? attempt->started_at_us + time_limit_us : 0;
}

std::int64_t JobView::node_count() const {
  const std::vector<std::string> held = nodes();
  return held.empty() ? nodes_asked : static_cast<std::int64_t>(held.size());
}

namespace {

const char* keeper_text(const std::string& keeper) {
  if (keeper == "mps") return "held by MPS, all processes of a task together by libdove-share.so";
  if (keeper == "library") return "held by libdove-share.so, which a program can go around";
  return "held by nobody: nothing on this device or its node can hold it";
}

// "held by …", or "held by … (node1, node2); …".
std::string shares_text(const json& shares) {
  std::map<std::string, std::vector<std::string>> nodes;
  for (const auto& [node, keeper] : shares.items()) {
    if (keeper.is_string()) nodes[keeper_text(keeper.get<std::string>())].push_back(node);
  }
  std::string text;
  for (const auto& [how, names] : nodes) {
    text += (text.empty() ? "" : "; ") + how;
    if (nodes.size() > 1) text += " (" + text::fold_sorted_hostlist(names) + ")";
  }
  return text;
}

}  // namespace

JobView read_job(const json& job) {
  JobView view;
  if (!job.is_object()) return view;
  read_spec(job, view);
  if (job.contains("request")) read_totals(job["request"], view);
  read_exec(job.contains("exec") ? job["exec"] : job, view);
  view.id = view.shown_id = text_of(job, "id");
  if (job.contains("array") && job["array"].is_object()) {
    view.array = text_of(job["array"], "id");
    view.array_index = number_of(job["array"], "index");
    view.array_running_max = number_of(job["array"], "running_max");
    view.shown_id = fmt::format("{}_{}", view.array, view.array_index);
  }
  view.stdout_path = shown_path(view.stdout_path, view);
  view.stderr_path = shown_path(view.stderr_path, view);
  view.state = text_of(job, "state");
  view.priority = number_of(job, "priority");
  view.exit_code = number_of(job, "exit_code");
  view.retries_used = number_of(job, "retries_used");
  view.submitted_at_us = instant_us_of(job, "submitted_at");
  view.eligible_at_us = instant_us_of(job, "eligible_at");
  view.promised_start_us = instant_us_of(job, "promised_start");
  view.ended_at_us = instant_us_of(job, "ended_at");
  view.ended = text_of(job, "phase") == "ended";
  for (const json& attempt : list_of(job, "attempts"))
    view.attempts.push_back(read_attempt(attempt));
  if (view.attempts.empty() && number_of(job, "attempt") > 0) {
    view.attempts.push_back(read_attempt_summary(job));
  }
  for (const json& step : list_of(job, "steps")) view.steps.push_back(read_step(step));
  for (const json& warning : list_of(job, "warnings")) {
    view.warnings.push_back(fmt::format("{} ({})", text_of(warning, "text"),
                                        fmt::join(texts_of(warning, "nodes"), ", ")));
  }
  if (job.contains("progress") && job["progress"].is_object()) {
    view.progress = read_progress(job["progress"]);
  }
  view.kept_until_us = number_of(job, "kept_until_us");
  view.cancelled_by = text_of(job, "cancelled_by");
  if (job.contains("idle") && job["idle"].is_object()) {
    view.idle = idle_line(job["idle"], view.ended);
  }
  if (job.contains("shares") && job["shares"].is_object()) {
    view.shares = shares_text(job["shares"]);
  }
  const char* const goodput = job.contains("goodput") ? "goodput" : "yield";  // of an older server
  if (job.contains(goodput) && job[goodput].is_object()) {
    view.gpu_time = gpu_time_text(job[goodput]);
  }
  for (const json& reason : list_of(job, "reasons")) {
    view.reasons.push_back({text_of(reason, "kind"), with_local_times(text_of(reason, "text"))});
  }
  if (const std::string failure = text_of(job, "start_failure"); !failure.empty()) {
    view.reasons.push_back({"start_failure", failure});
  }
  return view;
}

NodeView read_node(const json& node) {
  NodeView view;
  if (!node.is_object()) return view;
  view.name = text_of(node, "name");
  view.state = text_of(node, "state");
  view.address = text_of(node, "address");
  view.version = text_of(node, "version");
  view.drain_reason = text_of(node, "drain_reason");
  view.not_enforced = text_of(node, "not_enforced");
  view.agent_pid = number_of(node, "agent_pid");
  view.contact_since_us = instant_us_of(node, "contact_since");
  view.cores = number_of(node, "cores");
  view.cores_free = number_of(node, "cores_free");
  view.memory_bytes = number_of(node, "memory_bytes");
  view.memory_free_bytes = number_of(node, "memory_free_bytes");
  view.gpus = number_of(node, "gpus");
  view.gpus_free_milli = number_of(node, "gpus_free_milli");
  view.gpu_model = text_of(node, "gpu_model");
  if (const auto slices = node.find("slices_free"); slices != node.end() && slices->is_object()) {
    for (const auto& [name, count] : slices->items()) {
      if (!view.slices_free.empty()) view.slices_free += ", ";
      view.slices_free += fmt::format("{} {}", name, count.is_number() ? count.get<int>() : 0);
    }
  }
  if (const auto all = node.find("countables"); all != node.end() && all->is_object()) {
    const json free = node.value("countables_free", json::object());
    for (const auto& [name, amount] : all->items()) {
      if (!amount.is_number_integer()) continue;
      const auto total = amount.get<std::int64_t>();
      view.countables.push_back(
          fmt::format("{} {} of {} in use", name,
                      codec::human_amount(name, total - number_of(free, name.c_str())),
                      codec::human_amount(name, total)));
    }
  }
  view.features = texts_of(node, "features");
  if (const auto labels = node.find("labels"); labels != node.end() && labels->is_object()) {
    for (const auto& [name, value] : labels->items()) {
      if (!view.labels.empty()) view.labels += ", ";
      view.labels += name + "=" + (value.is_string() ? value.get<std::string>() : "");
    }
  }
  view.jobs = texts_of(node, "jobs");
  view.pools = texts_of(node, "pools");
  if (const auto units = node.find("topology"); units != node.end() && units->is_array()) {
    for (const json& unit : *units) {
      if (!view.topology.empty()) view.topology += ", ";
      view.topology += text_of(unit, "level") + " " + text_of(unit, "name");
    }
  }
  return view;
}

}  // namespace dove::cli
